# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# nix-build packaging/nix -A gpumon: the tool, and the library with which it records programs.
# nix-build packaging/nix -A module: the module for boot.extraModulePackages, of the kernel that `kernel` is.
{ pkgs ? import <nixpkgs> { }
, kernel ? pkgs.linux
  # A folder with CUDA's headers.
, cuda ? "/none"
}:
let
  inherit (pkgs) lib stdenv;
  clang = pkgs.llvmPackages.clang-unwrapped;
  version = builtins.head (builtins.match ".*GPUMON_VERSION \"([^\"]*)\".*"
    (builtins.readFile ../../kmod/uapi/gpumon_version.h));
  src = lib.cleanSource ../..;
  license = [ lib.licenses.gpl2Only lib.licenses.bsd3 ];
in
{
  gpumon = stdenv.mkDerivation {
    pname = "gpumon";
    inherit version src;
    nativeBuildInputs = [ clang pkgs.bpftools pkgs.pkg-config ];
    buildInputs = with pkgs; [
      elfutils json_c level-zero libbpf libiberty libmicrohttpd libnl libxcrypt opencl-headers sqlite vulkan-headers zlib zstd
    ];
    enableParallelBuilding = true;
    makeFlags = [ "PREFIX=$(out)" "CLANG=${clang}/bin/clang" "CUDA=${cuda}" ];
    buildFlags = [ "user" "inject" ];
    installTargets = [ "install-user" "install-inject" ];
    # It is loaded when metrics are served.
    postFixup = "patchelf --add-rpath ${lib.makeLibraryPath [ pkgs.libmicrohttpd ]} $out/bin/gpumon-user";
    meta = {
      description = "What GPUs do, and which line of code launched it";
      inherit license;
      mainProgram = "gpumon-user";
      platforms = [ "x86_64-linux" "aarch64-linux" ];
    };
  };

  module = stdenv.mkDerivation {
    pname = "gpumon-module";
    version = "${version}-${kernel.version}";
    inherit src;
    nativeBuildInputs = kernel.moduleBuildDependencies;
    makeFlags = [ "KERNELDIR=${kernel.dev}/lib/modules/${kernel.modDirVersion}/build" "DESTDIR=$(out)" ];
    buildFlags = [ "modules" ];
    installTargets = [ "modules_install" ];
    meta = {
      description = "Kernel module that counts what GPU drivers do";
      license = lib.licenses.gpl2Only;
      platforms = [ "x86_64-linux" "aarch64-linux" ];
    };
  };
}
