// SPDX-License-Identifier: Apache-2.0
// Collects all problems of a manifest, so that they are reported at once:
//
//   train.toml:3:1: error[B1003]: unknown key "max_step" in [run]
//     max_step = 2000
//     ^~~~~~~~
//     help: did you mean "max_steps"?
//
// The parser adds problems of the manifest. The loader adds those of options against the plugins' declarations. Both
// name places by the Location that is kept with each value. Use it from one thread at a time.
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
  std::string help;     // the fix; may be empty
  int length = 0;       // characters to underline; 0: the key, value or header that begins at `at`
  // The line itself, if `at.file` is no source (a file of data, which may be large).
  std::optional<std::string> line = {};
  std::string code = {};  // "B1003"; empty: the message has none. add() takes it out of the message.
};

// Returns the message after its code, as Diagnostics::add got it.
std::string coded_message(const Diagnostic& problem);

class Diagnostics {
 public:
  // Adds the lines of `file`, so that they can be shown. The argument of a --set has the `file` of its Location as
  // name.
  void add_source(const std::string& file, std::string text);

  // A message begins with its code, as in platform/text/coded_message.h: "[B1003] unknown key".
  void add(Location at, std::string message, std::string help = {}, int length = 0);
  void add(Diagnostic problem);

  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  // True if problems are only counted from now on, and no longer kept. So a caller need not look for help.
  bool full() const;
  // Returns whether a problem with this code is at this place.
  bool has(std::string_view code, const Location& at) const;

  // Returns the problems by place: files in the order of add_source, those without a place first, ties as added. Each
  // `length` is the one that text() underlines; 0: there is no line, or nothing at that place.
  std::vector<Diagnostic> sorted() const;

  // Returns all problems in that order, as in the example above, each line with its newline. Control characters are
  // escaped; tabs become spaces. A long line is cut to the part around the caret, a long message to its start. After
  // the first hundred, only the number is reported.
  std::string text() const;

 private:
  struct Source {
    std::size_t order;
    std::string text;
    std::string_view line(int number) const;
  };
  // Returns the line of a problem, if it has one.
  std::optional<std::string_view> line_of(const Diagnostic& problem) const;

  std::map<std::string, Source, std::less<>> sources_;
  std::vector<Diagnostic> found_;  // the first thousand
  std::size_t count_ = 0;
};

}  // namespace belay::runtime
