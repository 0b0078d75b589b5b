// SPDX-License-Identifier: Apache-2.0
// One number of 128 bits for all variables of a training. Two states with the same digest have the same bits: as good
// as surely, since another state has the same digest by chance once in 2^128. It is no seal: two states with one digest
// can be made on purpose. For the host and for plugins; this header includes xxhash.h (Debian's libxxhash-dev), of
// which nothing needs to be linked.
//
//   belay::StateDigest digest;
//   for (const belay::VariableInfo& variable : session.variables()) {
//     const belay::RunResult value = session.run({session.graph().find(variable.name)});
//     digest.add(variable.name, value[0]);
//   }
//   digest.text();  // "9f1c...", 32 digits
//
// What goes in of each variable: its name, dtype and shape, and the bytes of its elements, row by row and
// little-endian. The order in which they are added, the number of threads, the instruction set and the machine do not:
// of each variable's elements XXH3's number is taken, and of those numbers with the names and forms, sorted by name,
// the digest. -0.0 and 0.0 differ, and so do two NaNs of other bits. Nothing of the hooks' states or the inputs'
// positions is in it; those are in the file `state` beside it.
//
// One thread at a time; add() reads the elements once, at the speed of memory, and keeps none of them.
#pragma once

#define XXH_INLINE_ALL  // the functions are this translation unit's own
// How far ahead it asks for memory, in bytes: with xxhash.h's own number it waits, and takes a quarter longer than
// reading (bench/digest_bench.cc). The numbers that come out are the same.
#ifndef XXH_PREFETCH_DIST
#define XXH_PREFETCH_DIST 1536
#endif
#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belay/tensor.h"

namespace belay {
inline namespace v0 {

class StateDigest {
 public:
  // Of a tensor of numbers; one of strings is UNIMPLEMENTED. A name is added once: twice is another digest.
  void add(std::string_view name, const TensorView& tensor) {
    if (tensor.dtype() == DType::kString)
      fail(Code::kUnimplemented, "'" + std::string(name) + "' is of type string; a digest is of numbers");
    std::string form;
    put(form, name.size());
    form += name;
    put(form, static_cast<std::uint64_t>(tensor.dtype()));
    put(form, static_cast<std::uint64_t>(tensor.rank()));
    for (std::int32_t i = 0; i < tensor.rank(); ++i) put(form, static_cast<std::uint64_t>(tensor.dim(i)));
    // Of no elements there may be no address, either.
    const std::size_t bytes = tensor.bytes();
    XXH128_canonical_t number;
    XXH128_canonicalFromHash(&number, XXH3_128bits(bytes == 0 ? "" : tensor.raw().data, bytes));
    form.append(reinterpret_cast<const char*>(number.digest), sizeof(number.digest));
    forms_.emplace_back(std::string(name), std::move(form));
  }

  // Of what was added so far, as 32 digits of base 16. Of nothing, too.
  std::string text() const {
    std::vector<std::pair<std::string, std::string>> sorted = forms_;
    std::sort(sorted.begin(), sorted.end());
    std::string all;
    put(all, sorted.size());
    for (const auto& [name, form] : sorted) all += form;
    XXH128_canonical_t number;
    XXH128_canonicalFromHash(&number, XXH3_128bits(all.data(), all.size()));
    std::string digits;
    for (const unsigned char byte : number.digest)
      digits += {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
    return digits;
  }

  // Whether a string can be one: 32 digits of base 16, letters in lower case.
  static bool is_text(std::string_view text) noexcept {
    return text.size() == kDigits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  }
  static constexpr std::size_t kDigits = 32;

 private:
  static void put(std::string& form, std::uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) form += static_cast<char>(number >> shift & 0xff);
  }
  std::vector<std::pair<std::string, std::string>> forms_;  // by name
};

}  // namespace v0
}  // namespace belay
