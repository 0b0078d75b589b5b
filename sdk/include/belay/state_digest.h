// SPDX-License-Identifier: Apache-2.0
// One number of 128 bits for all variables of a training. States with different bits have the same digest by chance
// once in 2^128. So equal digests practically mean equal bits. It is not a seal: two states with one digest can be made
// on purpose. Host and plugins use it. This header includes xxhash.h (Debian's libxxhash-dev), which needs no library
// to link.
//
//   belay::StateDigest digest;
//   for (const belay::VariableInfo& variable : session.variables()) {
//     const belay::RunResult value = session.run({session.graph().find(variable.name)});
//     digest.add(variable.name, value[0]);
//   }
//   digest.text();  // "9f1c...", 32 digits
//
// The digest covers each variable's name, dtype, shape and elements, row by row and little-endian. It does not depend
// on the order of adding, the number of threads, the instruction set or the machine. It takes XXH3 of each variable's
// elements. Then it takes XXH3 of these numbers with names and forms, sorted by name. -0.0 and 0.0 differ, and so do
// two NaNs with different bits. It does not cover the hooks' states and the inputs' positions; the file `state` of a
// checkpoint has those.
//
// Use it from one thread at a time. add() reads the elements once, at the speed of memory, and keeps none of them.
#pragma once

#define XXH_INLINE_ALL  // the functions belong to this translation unit
// Distance of prefetching in bytes. With xxhash.h's own value it waits, and takes a quarter longer than reading
// (bench/digest_bench.cc). The results are the same.
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

// The digest of the tensors that were added.
class StateDigest {
 public:
  // Adds a tensor of numbers. Add each name once: a second add changes the digest. UNIMPLEMENTED: a tensor of strings.
  void add(std::string_view name, const TensorView& tensor) {
    if (tensor.dtype() == DType::kString)
      fail(Code::kUnimplemented, "'" + std::string(name) + "' is of type string; a digest is of numbers");
    std::string form;
    put(form, name.size());
    form += name;
    put(form, static_cast<std::uint64_t>(tensor.dtype()));
    put(form, static_cast<std::uint64_t>(tensor.rank()));
    for (std::int32_t i = 0; i < tensor.rank(); ++i) put(form, static_cast<std::uint64_t>(tensor.dim(i)));
    // A tensor without elements may have no address.
    const std::size_t bytes = tensor.bytes();
    XXH128_canonical_t number;
    XXH128_canonicalFromHash(&number, XXH3_128bits(bytes == 0 ? "" : tensor.raw().data, bytes));
    form.append(reinterpret_cast<const char*>(number.digest), sizeof(number.digest));
    forms_.emplace_back(std::string(name), std::move(form));
  }

  // The digest of all added tensors, as 32 digits of base 16. It also works without any.
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

  // True if a string has the form of a digest: 32 digits of base 16, letters in lower case.
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
