// SPDX-License-Identifier: Apache-2.0
// Cuts text into windows for a model that predicts the next character: `sequence_length` ids, and the ids that follow
// each.
//
// The text is read when the input is asked for its columns, since one of them needs the vocabulary's size. It stays in
// memory in the files' encoding. A window's ids are made at its delivery. Several files are one text, in the order of
// the list.
#include <belay/data_file.h>
#include <belay/example_order.h>
#include <belay/plugin.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "text_file.h"
#include "vocabulary.h"

namespace text_input {
namespace {

using belay::Code;
using belay::fail;

class Text final : public belay::Input {
 public:
  struct Options : belay::BatchOptions {
    belay::List<belay::Path> files;
    belay::Str units = "characters";
    belay::List<belay::Path> vocabulary_files;
    belay::Path vocabulary_out;
    belay::Str unknown;
    belay::Str split = "all";
    double eval_fraction = 0.1;
    std::int64_t sequence_length = 64;
    std::optional<std::int64_t> stride;
  };
  static constexpr auto about = belay::about(
      "text", "Reads windows of text as ids, and the ids of the characters that follow",
      belay::option("files", &Options::files, "files of UTF-8 text, which are read as one text in this order")
          .required()
          .example_file("verse.txt",
                        "one and one is two, and one is three,\n"
                        "two and two is four, and two is six,\n"
                        "four and four is eight, and one is nine,\n"
                        "and nine and one is ten: begin again.\n"),
      belay::option("units", &Options::units,
                    "characters: ids 0, 1, ... for the characters that occur, in the order of their code points; "
                    "bytes: ids 0 to 255")
          .choices("characters", "bytes")
          .learned(),
      belay::option("vocabulary_files", &Options::vocabulary_files,
                    "files of text whose characters get ids in a training; if empty, 'files', whatever the split. "
                    "Other inputs of the model inherit the training's ids and read no such file"),
      belay::option("unknown", &Options::unknown,
                    "character that stands for each character without an id, and that has an id itself; if empty, a "
                    "character without an id is an error")
          .learned()
          .example("?"),
      belay::option("vocabulary_out", &Options::vocabulary_out,
                    "file to write at the first batch: a JSON list of the characters by id")
          .watching(),
      belay::option("split", &Options::split, "part of the text to use; train is its beginning, and eval its end")
          .choices("all", "train", "eval"),
      belay::option("eval_fraction", &Options::eval_fraction, "share of the text that belongs to eval").range(0, 1),
      belay::option("sequence_length", &Options::sequence_length, "number of ids in an example")
          .range(1, 1e6)
          .learned(),
      belay::option("stride", &Options::stride,
                    "characters from the start of one example to the start of the next; if not set, sequence_length")
          .min(1),
      belay::batch_options<Options>("true: another order of the windows in each epoch, from the run's seed"));

  explicit Text(const Options& o) : o_(o), units_(o.units == "bytes" ? Units::kBytes : Units::kCharacters) {
    if (o.files.empty()) fail(Code::kInvalidArgument, "[B3020] 'files' is empty; name at least one file of text");
    if (units_ == Units::kBytes && !o.vocabulary_files.empty())
      fail(Code::kInvalidArgument,
           "[B3020] 'vocabulary_files' is for units = \"characters\"; bytes have their own ids");
    if (o.unknown.empty()) return;
    if (units_ == Units::kBytes)
      fail(Code::kInvalidArgument, "[B3020] 'unknown' is for units = \"characters\"; each byte has an id");
    if (!only_character(o.unknown))
      fail(Code::kInvalidArgument, "[B3020] 'unknown' is \"" + o.unknown.string() + "\", must be one character");
  }

  void spec(belay::InputSpec& spec) override {
    has_next_ = spec.use() != belay::InputUse::kPrediction;
    load(spec.learned_class_names("ids"));
    if (!o_.unknown.empty()) spec.keep("unknown", std::vector<std::string>{o_.unknown.string()});
    ids_slot_ = spec.feature("ids", belay::DType::kInt32, {-1, o_.sequence_length});
    const std::vector<std::string> names = vocabulary_.names();
    spec.set_class_names(ids_slot_, names);
    if (!has_next_) return;
    next_slot_ = spec.label("next_ids", belay::DType::kInt32, {-1, o_.sequence_length});
    spec.set_class_names(next_slot_, names);
  }

  void open(const belay::OpenArgs& args) override {
    const std::int64_t length = end_ - begin_;
    if (length < characters_of_example())
      fail(Code::kFailedPrecondition,
           "[B3027] files: the " + std::string(o_.split == "all" ? "text" : "part for \"" + o_.split.string() + "\"") +
               " has " + std::to_string(length) + " " + o_.units.string() + "; an example takes " +
               std::to_string(characters_of_example()) + ": lower 'sequence_length'" +
               (o_.split == "all" ? "" : ", or change 'eval_fraction'"));
    const std::int64_t windows = (length - characters_of_example()) / stride() + 1;
    order_ = belay::ExampleOrder(windows, o_, args);
  }

  bool next(belay::Batch& batch, belay::Position& position) override {
    if (!o_.vocabulary_out.empty() && !vocabulary_written_) {
      vocabulary_.write("vocabulary_out", o_.vocabulary_out.string());
      vocabulary_written_ = true;
    }
    const std::vector<std::int64_t>& examples = order_.batch();
    if (examples.empty()) return false;
    const belay::Dims dims{static_cast<std::int64_t>(examples.size()), o_.sequence_length};
    auto* ids = batch.tensor(ids_slot_, dims).data<std::int32_t>();
    auto* next_ids = has_next_ ? batch.tensor(next_slot_, dims).data<std::int32_t>() : nullptr;
    for (const std::int64_t example : examples) {
      auto id = window_.begin();
      text_.for_each(begin_ + example * stride(), characters_of_example(),
                     [&](char32_t character) { *id++ = vocabulary_.id_of(character).value_or(unknown_id_); });
      ids = std::copy_n(window_.begin(), o_.sequence_length, ids);
      if (has_next_) next_ids = std::copy_n(window_.begin() + 1, o_.sequence_length, next_ids);
    }
    position = order_.advance();
    return true;
  }

  void seek(const belay::Position& position) override { order_.seek(position); }
  std::int64_t size() const override { return order_.size(); }

 private:
  std::int64_t stride() const { return o_.stride.value_or(o_.sequence_length); }

  // A prediction does not need the character after the last id.
  std::int64_t characters_of_example() const { return o_.sequence_length + (has_next_ ? 1 : 0); }

  static std::vector<std::string> strings(const belay::List<belay::Path>& paths) {
    std::vector<std::string> all;
    for (const belay::Path& path : paths) all.push_back(path.string());
    return all;
  }

  // `learned` has the training's characters by id.
  void load(const std::optional<std::vector<std::string>>& learned) {
    vocabulary_ = learned                   ? vocabulary_of_training(*learned)
                  : units_ == Units::kBytes ? Vocabulary::of_bytes()
                                            : vocabulary_of_files();
    if (o_.split != "all") belay::refuse_repeated_files("files", strings(o_.files));  // else a text may count twice
    text_ = TextFiles("files", strings(o_.files), units_);
    const bool own = !learned && units_ == Units::kCharacters && o_.vocabulary_files.empty();
    if (own) vocabulary_.add(text_.characters());
    if (vocabulary_.size() == 0)
      fail(Code::kFailedPrecondition,
           own ? "[B3021] files: there is no text in them" : "[B3021] vocabulary_files: there is no text in them");
    choose_unknown(learned.has_value());
    check_characters(learned ? "in the text that the model was trained on; leave it out, or train with an 'unknown'"
                             : "in 'vocabulary_files'; add a file that has it");
    const std::int64_t all = text_.size(), train = all - std::llround(o_.eval_fraction * static_cast<double>(all));
    begin_ = o_.split == "eval" ? train : 0;
    end_ = o_.split == "train" ? train : all;
    window_.resize(static_cast<std::size_t>(characters_of_example()));
  }

  Vocabulary vocabulary_of_files() const {
    Vocabulary vocabulary;
    // The files are read one by one, and before the text, so that no two are in memory together.
    for (const std::string& path : strings(o_.vocabulary_files))
      vocabulary.add(TextFiles("vocabulary_files", {path}, units_).characters());
    return vocabulary;
  }

  Vocabulary vocabulary_of_training(const std::vector<std::string>& names) const {
    const bool of_bytes = names == Vocabulary::of_bytes().names();
    const std::optional<Vocabulary> of_characters = Vocabulary::of_names(names);
    if (units_ == Units::kBytes && of_bytes) return Vocabulary::of_bytes();
    if (units_ == Units::kCharacters && of_characters) return *of_characters;
    const std::string held = of_bytes ? "bytes" : of_characters ? "characters" : "neither characters nor bytes";
    fail(Code::kInvalidArgument, "[B3031] 'units' is \"" + o_.units.string() + "\", and the ids of the training are " +
                                     held + (of_bytes || of_characters ? "; leave 'units' out" : ""));
  }

  void choose_unknown(bool is_learned) {
    unknown_id_ = -1;
    if (o_.unknown.empty()) return;
    const char32_t character = *only_character(o_.unknown);
    if (!is_learned) vocabulary_.add({character});
    const std::optional<std::int32_t> id = vocabulary_.id_of(character);
    if (!id)
      fail(Code::kInvalidArgument, "[B3031] 'unknown' is " + shown(character) +
                                       ", which the training has no id for; set it in [input.train] and train again");
    unknown_id_ = *id;
  }

  void check_characters(const std::string& where) const {
    if (units_ == Units::kBytes || unknown_id_ >= 0) return;
    for (const char32_t character : text_.characters())
      if (!vocabulary_.id_of(character))
        fail(Code::kInvalidArgument,
             "[B3031] files: " + text_.place_of(character) + ": " + shown(character) + " does not occur " + where);
  }

  const Options o_;
  const Units units_;
  Vocabulary vocabulary_;
  bool vocabulary_written_ = false;
  std::int32_t unknown_id_ = -1;  // -1: each character has an id
  bool has_next_ = true;
  TextFiles text_;
  std::int64_t begin_ = 0, end_ = 0;  // the characters of this split
  std::vector<std::int32_t> window_;  // ids of the window that is being delivered
  std::uint32_t ids_slot_ = 0, next_slot_ = 0;
  belay::ExampleOrder order_;
};

}  // namespace
}  // namespace text_input

BELAY_MODULE("1.0.0", text_input::Text)
