// SPDX-License-Identifier: Apache-2.0
// Everything that is wrong with a manifest, collected so that all of it is reported at once:
//
//   train.toml:3:1: error: unknown key "max_step" in [run]
//     max_step = 2000
//     ^~~~~~~~
//     help: did you mean "max_steps"?
//
// The parser adds what it finds in the manifest, the loader what the plugins' declarations say about their options;
// both name places by the Location that is kept with each value. One thread at a time.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/manifest/manifest.h"

namespace belay::runtime {

struct Diagnostic {
  Location at;          // line 0: no place in a file
  std::string message;  // one sentence without a full stop; may hold any bytes, text() escapes them
  std::string help;     // what to do about it; may be empty
  int length = 0;       // characters to underline; 0: the key, value or header that begins at `at`
  // The line itself, where `at.file` is no source (a file of data, which may be large).
  std::optional<std::string> line = {};
};

class Diagnostics {
 public:
  // Makes the lines of `file` known, so that they can be shown. The argument of a --set has its Location's `file` as
  // name.
  void add_source(const std::string& file, std::string text);

  void add(Location at, std::string message, std::string help = {}, int length = 0);
  void add(Diagnostic problem);

  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  // From now on problems are counted, but no longer kept: there is no need to look for help.
  bool full() const;

  // By place: files in the order of add_source, what has no place in one of them first, ties as added. The length of
  // each is the one that text() underlines; 0: there is no line, or nothing at that place.
  std::vector<Diagnostic> sorted() const;

  // All of them as in the example above, in that order, each line with its newline. Control characters are escaped;
  // tabs become spaces; of a long line the part around the caret is shown, of a long message the beginning. After the
  // first hundred only their number is reported.
  std::string text() const;

 private:
  struct Source {
    std::size_t order;
    std::string text;
    std::string_view line(int number) const;
  };
  // Where it has one.
  std::optional<std::string_view> line_of(const Diagnostic& problem) const;

  std::map<std::string, Source, std::less<>> sources_;
  std::vector<Diagnostic> found_;  // the first thousand
  std::size_t count_ = 0;
};

}  // namespace belay::runtime
