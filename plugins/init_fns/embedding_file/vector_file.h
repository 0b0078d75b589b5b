// SPDX-License-Identifier: Apache-2.0
// Files of word vectors, as word2vec, GloVe and fastText write them: tokens, each with the same number of numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace embedding_file {

enum class VectorFormat {
  kGlove,           // "the 0.1 0.2 ...\n" for each token
  kWord2vecText,    // the same behind a line with the number of tokens and of numbers; fastText's .vec, too
  kWord2vecBinary,  // that line, then for each token its name, a space, float32 numbers, perhaps a "\n"
};

struct VectorCounts {
  std::int64_t tokens = 0;
  std::int64_t repeated = 0;        // of those that were wanted
  std::string first_repeated = {};  // with its place
};

// Reads the file front to back. `row` is called with each token, and returns where its `width` numbers go; null: they
// are not wanted. A token that comes again is not wanted again: the first counts. The option "path" named the file.
//
// DATA_LOSS with the file and the line (of the binary format the token's number and byte) where a line has too few or
// too many numbers, or one of a wanted token is no finite number, and where the file has more or fewer tokens than its
// first line says. INVALID_ARGUMENT where its vectors have another width, or it is of another format.
VectorCounts read_vectors(const std::string& path, VectorFormat format, std::int64_t width,
                          const std::function<float*(std::string_view token)>& row);

}  // namespace embedding_file
