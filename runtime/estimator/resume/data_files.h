// SPDX-License-Identifier: Apache-2.0
// The files of a training. The next attempt recognises them: it must not continue with other data and no message. A
// mark is one comment line at the end of the effective manifest that a run and its checkpoints keep:
//
//   #file {"option":"input.train.path","path":"/data/x.csv","bytes":7840016,"modified_ns":...,"ends":"0e5d3e2a"}
//
// `ends` is the CRC32C of the first and the last 64 KiB; a run with --exact adds that of the whole file. [any thread]
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/loader/library/resolve.h"
#include "runtime/manifest/manifest.h"
#include "runtime/platform/files/file_system.h"

namespace belay::runtime {

struct DataFile {
  std::string option;  // "input.train.path"; of a list "input.train.path.0"
  std::string path;    // absolute
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::string ends;
  std::string whole = {};  // empty: not computed
  bool operator==(const DataFile&) const = default;
};

// Returns the files that options of the kind path name, but not those of `.watching()` options. Only regular files
// count. A file that cannot be read is left out, since the plugin's error is better. An array in an archive
// ("data.npz:rows") counts as the archive, and a pattern as all of its files. `section`: "input.eval". `whole`: reads
// every byte.
std::vector<DataFile> data_files(FileSystem& files, const std::string& section, const ResolvedPlugin& plugin,
                                 bool whole);

// A file on which the numbers of a training depend, and its place in the manifest.
struct TrainingFile {
  DataFile file;
  Location at;
  bool by_variable = false;  // the path there has a ${NAME}: it may differ in each process
};
// Returns those of [input.train], the model, the optimizer with its schedule and groups, and the hooks. Initial values
// do not count: a continued run has separate ones.
std::vector<TrainingFile> training_files(FileSystem& files, const Manifest& manifest, const ResolvedPlugins& plugins,
                                         bool whole);

// Writes the lines, and finds them in a manifest's text; a damaged line is skipped.
std::string data_file_lines(const std::vector<DataFile>& files);
std::vector<DataFile> parse_data_files(std::string_view manifest);
// Returns settings "input.train.features=\"/data/x.npy\"", so the text means the same files in any folder. Paths
// relative to the user's manifest are absolute in the lines. Only existing files are listed. Hooks are not, since a
// setting names a hook by its number, and these lines have none.
std::vector<std::string> data_file_sets(std::string_view manifest);

// Describes the change of a file: "its bytes were 7840016, are 7840000". Empty: no change. `other_content`: its bytes
// differ; otherwise it was only written again, as far as can be seen.
std::string difference_of(const DataFile& before, const DataFile& now, bool& other_content);

}  // namespace belay::runtime
