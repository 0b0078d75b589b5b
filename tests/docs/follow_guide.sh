#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# follow_guide.sh PAGE BUILD SOURCE: follows a page of docs/guide, with the programs of a build, in a folder that is removed
# again (tests/install/run_page.py). Status 77, with the reason, if this machine lacks something that the page needs.
set -euo pipefail
page=$1 build=$2 source=$3
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
skip() { echo "SKIPPED: $*"; exit 77; }

# As installed: belay, the headers for a page that compiles a hook, and no folder of the user's.
mkdir -p "$here/bin" "$here/lib/pkgconfig" "$here/home" "$here/work"
ln -s "$build/bin/belay" "$here/bin/belay"
ln -s /usr/bin/python3 "$here/bin/python3"  # Debian's, which has Debian's packages
ln -s "$source/sdk/include" "$here/include"
sed 's/@CMAKE_INSTALL_INCLUDEDIR@/include/; s/@PROJECT_VERSION@/0/' "$source/cmake/belay-sdk.pc.in" \
  >"$here/lib/pkgconfig/belay-sdk.pc"
export PATH=$here/bin:$PATH HOME=$here/home BELAY_PLUGIN_PATH=$build/plugins PKG_CONFIG_PATH=$here/lib/pkgconfig

needs_python() {
  for module in "$@"; do
    python3 -c "import $module" 2>/dev/null || skip "$page needs the Python module $module: apt install python3-$module"
  done
}

case $page in
  your-own-data)
    python3 -c "import PIL" 2>/dev/null || skip "$page needs Pillow: apt install python3-pil"
    needs_python numpy
    ;;
  when-it-goes-wrong)
    command -v pkg-config >/dev/null || skip "$page needs pkg-config"
    ;;
  coming-from-keras-lightning)
    needs_python numpy
    data=${BELAY_DATA_DIR:-$source/../shared/data}/mnist
    [ -f "$data/train-images-idx3-ubyte.gz" ] || skip "$page needs mnist/ in BELAY_DATA_DIR"
    mkdir -p "$HOME/.keras/datasets"  # what keras.datasets.mnist.load_data() leaves there
    python3 - "$data" "$HOME/.keras/datasets/mnist.npz" <<'END'
import gzip, sys
import numpy as np

def read(name, start):
    return np.frombuffer(gzip.open(f"{sys.argv[1]}/{name}-ubyte.gz").read(), np.uint8, offset=start)

np.savez(sys.argv[2], x_train=read("train-images-idx3", 16).reshape(-1, 28, 28), y_train=read("train-labels-idx1", 8),
         x_test=read("t10k-images-idx3", 16).reshape(-1, 28, 28), y_test=read("t10k-labels-idx1", 8))
END
    ;;
esac
python3 -B "$source/tests/install/run_page.py" "$source/docs/guide/$page.md" "$here/work"
