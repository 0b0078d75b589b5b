#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes TREE/share/doc/belay/belay.spdx.json: which software of others is in a tarball, as SPDX 2.3.

    sbom.py BUILD TREE NAME VERSION EPOCH

* Each library of TREE/share/doc/belay/libraries/libraries.tsv, with the checksum of its file.
* Each package of headers that a source of the tarball includes: their code is in the programs. Its copyright file is copied
  to those of the libraries.

Version and terms are those of Debian's packages. The terms are the whole text of Debian's copyright file, since the short
names in it are not SPDX's.
"""
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time
from urllib.parse import quote

PROGRAMS = re.compile(r"(runtime|plugins|cmake|CMakeFiles/belay_headers_of_\w+\.dir)/(?!.*_test\.dir/)")
TERMS = "share/doc/belay/libraries"


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout


def packages_of_headers(build):
    """{package: version} of the system's headers that ninja knows of, for what is in the tarball."""
    headers, wanted = set(), False
    for line in output("ninja", "-C", build, "-t", "deps").splitlines():
        if line.startswith(" "):
            if wanted and line.strip().startswith("/usr/"):
                headers.add(str(pathlib.Path(line.strip()).resolve()))
        elif line:
            wanted = PROGRAMS.match(line) is not None
    if not headers:
        raise SystemExit(f"sbom: ninja knows no header of {build}: build it with Ninja, all of it")
    owners = output("dpkg-query", "-S", *sorted(headers))
    names = sorted({line.split(": ")[0].split(":")[0] for line in owners.splitlines()})
    return dict(zip(names, output("dpkg-query", "-W", "-f=${Version}\n", *names).splitlines()))


def identifier(name):
    return re.sub(r"[^A-Za-z0-9.-]", "-", name)


def copyright_file(tree, package):
    return tree / TERMS / f"{package}.copyright"


def entry(package, version, purpose, **more):
    purl = f"pkg:deb/debian/{quote(package, safe='')}@{quote(version, safe='')}?arch=amd64&distro=debian-12"
    return {"SPDXID": f"SPDXRef-{identifier(package)}", "name": package, "versionInfo": version,
            "supplier": "Organization: Debian", "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "primaryPackagePurpose": purpose, "licenseConcluded": "NOASSERTION",
            "copyrightText": "NOASSERTION",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": purl}], **more}


def library_entries(tree):
    for line in (tree / TERMS / "libraries.tsv").read_text(encoding="utf-8").splitlines():
        library, package, version = line.split("\t")
        [file] = (tree / "lib/belay").rglob(library)
        yield entry(package, version, "LIBRARY",
                    SPDXID=f"SPDXRef-{identifier(library)}", packageFileName=str(file.relative_to(tree)),
                    checksums=[{"algorithm": "SHA256", "checksumValue": hashlib.sha256(file.read_bytes()).hexdigest()}])


def header_entries(build, tree):
    for package, version in packages_of_headers(build).items():
        shutil.copyfile(f"/usr/share/doc/{package}/copyright", copyright_file(tree, package))
        yield entry(package, version, "SOURCE")


def declare_terms(tree, packages):
    """Packages of one source have one text."""
    licences = {}
    for package in packages:
        text = copyright_file(tree, package["name"]).read_text(encoding="utf-8", errors="replace")
        licence = licences.setdefault(text, {"licenseId": f"LicenseRef-{identifier(package['name'])}",
                                             "name": f"the copyright file of Debian's {package['name']}",
                                             "extractedText": text})
        package["licenseDeclared"] = licence["licenseId"]
    return list(licences.values())


def document(build, tree, name, version, epoch):
    libraries = list(library_entries(tree))
    headers = list(header_entries(build, tree))
    licences = declare_terms(tree, [*libraries, *headers])
    belay = {"SPDXID": "SPDXRef-belay", "name": "belay", "versionInfo": version, "downloadLocation": "NOASSERTION",
             "filesAnalyzed": False, "primaryPackagePurpose": "APPLICATION", "licenseConcluded": "Apache-2.0",
             "licenseDeclared": "Apache-2.0", "copyrightText": "Copyright 2026 The authors of Belay"}
    packages = [belay, *libraries, *headers]
    seal = hashlib.sha256(json.dumps(packages).encode()).hexdigest()

    def related(what, how, others):
        return [{"spdxElementId": what, "relationshipType": how, "relatedSpdxElement": of["SPDXID"]} for of in others]

    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
            "documentNamespace": f"https://belay.example/spdx/{name}-{seal}",
            "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch)),
                             "creators": ["Tool: cmake/tarball/sbom.py"]},
            "packages": packages,
            "relationships": [*related("SPDXRef-DOCUMENT", "DESCRIBES", [belay]),
                              *related("SPDXRef-belay", "CONTAINS", libraries),
                              *related("SPDXRef-belay", "STATIC_LINK", headers)],
            "hasExtractedLicensingInfos": licences}


if __name__ == "__main__":
    build, tree, name, version, epoch = sys.argv[1:]
    text = json.dumps(document(build, pathlib.Path(tree), name, version, int(epoch)), indent=1)
    pathlib.Path(tree, "share/doc/belay/belay.spdx.json").write_text(text + "\n", encoding="utf-8")
