// SPDX-License-Identifier: Apache-2.0
// Fills rows of a table of embeddings from a file of word vectors, by a vocabulary.
#include <belay/data_file.h>
#include <belay/nearest.h>
#include <belay/plugin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../name_patterns.h"
#include "../token_file.h"
#include "vector_file.h"

namespace embedding_file {
namespace {

using belay::Code;
using belay::DType;
using belay::fail;
using belay::VariableInfo;

VectorFormat format_of(std::string_view name) {
  return name == "glove"           ? VectorFormat::kGlove
         : name == "word2vec_text" ? VectorFormat::kWord2vecText
                                   : VectorFormat::kWord2vecBinary;
}

class EmbeddingFile final : public belay::InitFn {
 public:
  struct Options {
    belay::Path path;
    belay::Str format;
    belay::Str variable;
    belay::Path vocabulary;
    std::optional<double> missing;
  };
  static constexpr auto about = belay::about(
      "embedding_file", "Fills a table of embeddings from a file of word vectors when a run begins",
      belay::option("path", &Options::path, "file with the word vectors, not compressed")
          .required()
          .example_file("vectors.txt", "the 0.1 0.2\ncat 0.3 0.4\n"),
      belay::option(
          "format", &Options::format,
          "glove: a line per token with its numbers; word2vec_text: the same after a line with the number of tokens "
          "and of numbers per token (also fastText's .vec); word2vec_binary: float32 numbers after such a line")
          .choices("glove", "word2vec_text", "word2vec_binary")
          .required()
          .example("glove"),
      belay::option("variable", &Options::variable,
                    "name of the table: a float32 or float64 variable [rows, numbers of a vector]")
          .required()
          .example("embedding/table"),
      belay::option("vocabulary", &Options::vocabulary, "text file with the tokens of the table's rows, one per line")
          .required()
          .example_file("vocabulary.txt", "the\ncat\nsat\n"),
      belay::option(
          "missing", &Options::missing,
          "number for the rows of tokens that the file lacks; if not set, these rows keep their initial values"));

  explicit EmbeddingFile(const Options& o)
      : path_(o.path),
        format_(format_of(o.format)),
        variable_(o.variable),
        vocabulary_(o.vocabulary),
        missing_(o.missing) {
    belay::data_file_size("path", path_);
    belay::data_file_size("vocabulary", vocabulary_);
  }

  void run(belay::Graph& graph, belay::Session& session) override {
    const VariableInfo table = find_table(session.variables());
    const std::int64_t rows = table.dims[0], width = table.dims[1];
    const init_fns::TokenFile tokens("vocabulary", vocabulary_, rows);
    if (tokens.size() > rows)
      fail(Code::kInvalidArgument, "vocabulary: '" + vocabulary_ + "' has more tokens than variable '" + variable_ +
                                       "' has rows, " + std::to_string(rows) +
                                       "; give the model as many, or a shorter vocabulary");
    std::vector<bool> found(static_cast<std::size_t>(tokens.size()));
    belay::Tensor vectors(DType::kFloat32, {tokens.size(), width});
    const VectorCounts counts = read_vectors(path_, format_, width, [&](std::string_view token) -> float* {
      const std::optional<std::int64_t> row = tokens.row_of(token);
      if (!row) return nullptr;
      found[static_cast<std::size_t>(*row)] = true;
      return vectors.data<float>() + *row * width;
    });
    report(tokens, found, counts, rows);
    belay::Tensor value(session.run({graph.find(variable_)})[0]);
    if (table.dtype == DType::kFloat32) {
      fill(vectors, found, width, value.data<float>());
    } else {
      fill(vectors, found, width, value.data<double>());
    }
    session.assign(variable_, value);
  }

 private:
  VariableInfo find_table(const std::vector<VariableInfo>& variables) const {
    std::vector<std::string> names;
    for (const VariableInfo& v : variables) {
      names.push_back(v.name);
      if (v.name != variable_) continue;
      if (v.dims.size() != 2 || (v.dtype != DType::kFloat32 && v.dtype != DType::kFloat64))
        fail(Code::kInvalidArgument, "variable '" + variable_ + "' is " + belay::dtype_name(v.dtype) + " " +
                                         belay::dims_text(v.dims) +
                                         "; a table of vectors is float32 or float64, [rows, numbers of a vector]");
      return v;
    }
    fail(Code::kNotFound, "the graph has no variable '" + variable_ + "'" + belay::did_you_mean(variable_, names) +
                              "; there are: " + init_fns::joined(names));
  }

  void report(const init_fns::TokenFile& tokens, const std::vector<bool>& found, const VectorCounts& counts,
              std::int64_t rows) const {
    std::vector<std::string> missing;
    for (std::size_t i = 0; i < found.size(); ++i)
      if (!found[i]) missing.emplace_back(tokens.tokens()[i]);
    const std::string text = "'" + variable_ + "': " + std::to_string(found.size() - missing.size()) + " of " +
                             std::to_string(tokens.size()) + " tokens of '" + vocabulary_ + "' are among the " +
                             std::to_string(counts.tokens) + " of '" + path_ + "'";
    if (missing.size() == found.size())
      fail(Code::kInvalidArgument, text + "; give the vocabulary of this file's language and spelling");
    host().info(text);
    const std::string what = missing_ ? "get " + belay::exact_text(*missing_) : "keep their initial values";
    if (!missing.empty())
      host().warning(std::to_string(missing.size()) + " not found, which " + what + ": " + init_fns::joined(missing));
    if (rows > tokens.size())
      host().info("rows " + std::to_string(tokens.size()) + " to " + std::to_string(rows - 1) +
                  " have no token and keep their initial values");
    if (counts.repeated > 0)
      host().warning("tokens that come again in '" + path_ + "', so that the first vector counts: " +
                     std::to_string(counts.repeated) + ", such as " + counts.first_repeated);
  }

  template <class T>
  void fill(const belay::Tensor& vectors, const std::vector<bool>& found, std::int64_t width, T* out) const {
    const float* row = belay::TensorView(vectors).data<const float>();
    for (std::size_t i = 0; i < found.size(); ++i, row += width, out += width) {
      if (found[i]) std::copy(row, row + width, out);
      if (!found[i] && missing_) std::fill(out, out + width, static_cast<T>(*missing_));
    }
  }

  const std::string path_;
  const VectorFormat format_;
  const std::string variable_;
  const std::string vocabulary_;
  const std::optional<double> missing_;
};

}  // namespace
}  // namespace embedding_file

BELAY_MODULE("1.0.0", embedding_file::EmbeddingFile)
