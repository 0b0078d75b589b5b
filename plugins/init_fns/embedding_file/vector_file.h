// SPDX-License-Identifier: Apache-2.0
// Reads files of word vectors from word2vec, GloVe and fastText: tokens, each with the same number of numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace embedding_file {

enum class VectorFormat {
  kGlove,           // "the 0.1 0.2 ...\n" for each token
  kWord2vecText,    // a line with the number of tokens and of numbers, then as GloVe; fastText's .vec, too
  kWord2vecBinary,  // that line, then for each token its name, a space, float32 numbers, perhaps a "\n"
};

struct VectorCounts {
  std::int64_t tokens = 0;
  std::int64_t repeated = 0;        // repeated tokens among the wanted ones
  std::string first_repeated = {};  // with its place
};

// Reads the file from start to end. `row` is called with each token and returns the place for its `width` numbers.
// Null: the token is not wanted. If a token is repeated, the first one counts. The option "path" named the file.
//
// DATA_LOSS names the file and the line (in the binary format the token's number and byte). One cause is a line with
// too few or too many numbers. Others are a wanted token with a number that is not finite, and a first line with a
// wrong count of tokens. INVALID_ARGUMENT: the vectors have another width, or the file has another format.
VectorCounts read_vectors(const std::string& path, VectorFormat format, std::int64_t width,
                          const std::function<float*(std::string_view token)>& row);

}  // namespace embedding_file
