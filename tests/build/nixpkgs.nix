# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# In place of nixpkgs, which cannot be had on Debian: what packaging/nix asks of it, built with Debian's
# compilers and libraries. It says nothing about names of packages in nixpkgs.
let
  # The phases of nixpkgs' mkDerivation that a package of a Makefile needs, without those that patch.
  mkDerivation = attributes: derivation (attributes // {
    name = "${attributes.pname}-${attributes.version}";
    system = builtins.currentSystem;
    builder = "/bin/bash";
    PATH = "/usr/sbin:/usr/bin:/sbin:/bin";
    meta = null;
    args = [ "-euc" ''
      cp -r "$src" source
      chmod -R u+w source
      cd source
      make -j"$(nproc)" CFLAGS=-O0 $makeFlags $buildFlags
      make CFLAGS=-O0 $makeFlags $installTargets
    '' ];
  });
  debian = builtins.listToAttrs (map (name: { inherit name; value = ""; }) [
    "bpftools" "elfutils" "json_c" "level-zero" "libbpf" "libiberty" "libmicrohttpd" "libnl" "libxcrypt"
    "opencl-headers" "pkg-config" "sqlite" "zlib" "zstd"
  ]);
in
debian // {
  stdenv = { inherit mkDerivation; };
  lib = {
    cleanSource = path: path;
    makeLibraryPath = builtins.concatStringsSep ":";
    licenses = { gpl2Only = "GPL-2.0-only"; bsd3 = "BSD-3-Clause"; };
  };
  llvmPackages.clang-unwrapped = "/usr";
  linux = {
    version = "6.1";
    modDirVersion = "6.1";
    dev = "/none";
    moduleBuildDependencies = [ ];
  };
}
