#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""In place of bitbake: yocto.py LAYER RECIPE [VARIABLE=VALUE...] NAME...

Reads the part of the syntax that packaging/yocto uses, and fails on any other. Prints for each NAME a variable's
value or a task as shell, expanded. VARIABLE=VALUE stands for local.conf. The classes module and externalsrc are
what the manual of Yocto says of them: names of variables, and the commands of the kernel's own build.
"""
import os
import re
import subprocess
import sys

# Both classes give a recipe these; the test gives the values with which the real tree would fill them.
MODULE = """
EXTRA_OEMAKE += "KERNEL_SRC=${STAGING_KERNEL_DIR}"
MODULES_INSTALL_TARGET ?= "modules_install"
do_compile() {
	unset CFLAGS CPPFLAGS CXXFLAGS LDFLAGS
	oe_runmake KERNEL_PATH=${STAGING_KERNEL_DIR} CC="${KERNEL_CC}" LD="${KERNEL_LD}" O=${STAGING_KERNEL_BUILDDIR} ${MAKE_TARGETS}
}
do_install() {
	unset CFLAGS CPPFLAGS CXXFLAGS LDFLAGS
	oe_runmake DEPMOD=echo MODLIB="${D}/lib/modules/${KERNEL_VERSION}" CC="${KERNEL_CC}" LD="${KERNEL_LD}" \\
		O=${STAGING_KERNEL_BUILDDIR} ${MODULES_INSTALL_TARGET}
	test -e "${B}/Module.symvers"
}
"""
CLASSES = {"module": MODULE, "externalsrc": ""}
ASSIGNMENT = re.compile(r'([A-Z_a-z][\w${}-]*(?:\[[\w-]+\])?(?::\$\{PN\})?)\s*(\?\?=|\?=|:=|\+=|\.=|=)\s*"(.*)"\Z', re.DOTALL)


class Recipe:
    def __init__(self, given):
        self.values, self.flags, self.weak, self.tasks = {}, {}, {}, {}
        self.given, self.functions = given, {"os": os}

    def getVar(self, name):  # as recipes call it
        text = self.given.get(name, self.values.get(name, self.weak.get(name)))
        if name == "PACKAGECONFIG_CONFARGS":
            text = self.configuration()
        return None if text is None else self.expand(text)

    def expand(self, text):
        def value(match):
            if match[1]:
                return str(eval(self.expand(match[1]), self.functions, {"d": self}))
            found = self.getVar(match[2])
            return match[0] if found is None else found
        return re.sub(r"\$\{(?:@((?:[^{}]|\$\{[^}]*\})*)|(\w+))\}", value, text)

    def configuration(self):
        chosen = self.getVar("PACKAGECONFIG").split()
        unknown = set(chosen) - set(self.flags)
        if unknown:
            sys.exit(f"PACKAGECONFIG has {unknown}")
        parts = []
        for name in sorted(self.flags):
            with_it, without_it = (self.flags[name] + ",").split(",")[:2]
            parts.append(with_it if name in chosen else without_it)
        return " ".join(part for part in parts if part)

    def assign(self, name, operator, text):
        flag = re.fullmatch(r"PACKAGECONFIG\[([\w-]+)\]", name)
        if flag:
            self.flags[flag[1]] = text
        elif operator == "??=":
            self.weak[name] = text
        elif operator == "?=":
            self.values.setdefault(name, text)
        elif operator in ("+=", ".="):
            self.values[name] = self.values.get(name, "") + (" " if operator == "+=" else "") + text
        else:
            self.values[name] = self.expand(text) if operator == ":=" else text

    def read(self, path):
        with open(path, encoding="utf-8") as file:
            self.text(file.read(), path)

    def text(self, text, path):
        lines = iter(text.split("\n"))
        for line in lines:
            if not line or line.startswith("#"):
                continue
            while line.endswith("\\"):
                line = line[:-1] + next(lines)
            word, _, rest = line.partition(" ")
            found = ASSIGNMENT.fullmatch(line)
            if found:
                self.assign(*found.groups())
            elif word == "inherit":
                for name in rest.split():
                    self.text(CLASSES[name], name)
            elif word == "require":
                self.read(os.path.join(os.path.dirname(path), rest))
            elif word == "def":
                body = [line]
                for line in lines:
                    if line and not line.startswith(" "):
                        sys.exit(f"{path}: an empty line has to end {body[0]}")
                    if not line:
                        break
                    body.append(line)
                exec("\n".join(body), self.functions)
            elif re.fullmatch(r"do_\w+\(\) \{", line):
                body = []
                for line in lines:
                    if line == "}":
                        break
                    body.append(line)
                self.tasks[word.removesuffix("()")] = "\n".join(body)
            else:
                sys.exit(f"{path}: not understood: {line}")


def main():
    layer, recipe, *rest = sys.argv[1:]
    given = dict(argument.split("=", 1) for argument in rest if "=" in argument)
    reader = Recipe({"LAYERDIR": os.path.abspath(layer), **given})
    reader.read(os.path.join(layer, "conf/layer.conf"))
    if subprocess.run(f"ls {reader.getVar('BBFILES')} | grep -q /{recipe}", shell=True, check=False).returncode:
        sys.exit(f"{recipe}: BBFILES of conf/layer.conf does not find it")
    name = recipe.removesuffix(".bb")
    for variable, value in (("PN", name), ("S", "${EXTERNALSRC}"), ("B", "${EXTERNALSRC_BUILD}"), ("prefix", "/usr"),
                            ("bindir", "/usr/bin")):
        reader.values[variable] = value
    reader.read(os.path.join(layer, "recipes-kernel/gpumon", recipe))
    for wanted in rest:
        if "=" in wanted:
            continue
        if wanted in reader.tasks:
            print("set -e\noe_runmake() { make " + reader.expand("${EXTRA_OEMAKE}") + ' "$@"; }\n' +
                  reader.expand(reader.tasks[wanted]))
        else:
            print(reader.getVar(wanted) or "")


if __name__ == "__main__":
    main()
