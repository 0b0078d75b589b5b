// SPDX-License-Identifier: Apache-2.0
#include "shard_index.h"

#include <belay/error.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

namespace belay_safetensors {
namespace {

using belay::Code;
using belay::fail;
using nlohmann::json;

[[noreturn]] void bad_index(const std::string& text) {
  fail(Code::kDataLoss, "[B4040] the .safetensors.index.json file: " + text);
}

std::string json_text(std::string_view name) { return json(name).dump(-1, ' ', false, json::error_handler_t::replace); }

// Takes the content of "weight_map" at the top level, without building a tree.
class IndexReader final : public json::json_sax_t {
 public:
  WeightMap files;
  bool has_map = false;

  bool null() override { return other(); }
  bool boolean(bool) override { return other(); }
  bool number_float(double, const std::string&) override { return other(); }
  bool number_integer(std::int64_t) override { return other(); }
  bool number_unsigned(std::uint64_t) override { return other(); }
  bool binary(binary_t&) override { return other(); }
  bool string(std::string& text) override {
    if (!in_map_ || depth_ != 2) return other();
    check_file(text);
    if (!files.emplace(key_, text).second) bad_index("tensor " + json_text(key_) + " is there twice");
    return true;
  }
  bool start_object(std::size_t) override {
    if (depth_ == 1 && key_ == "weight_map") {
      if (std::exchange(has_map, true)) bad_index("\"weight_map\" is there twice");
      in_map_ = true;
    } else if (depth_ != 0) {
      other();
    }
    ++depth_;
    return true;
  }
  bool key(std::string& name) override {
    if (depth_ <= 2) key_ = name;
    return true;
  }
  bool end_object() override {
    if (--depth_ == 1) in_map_ = false;
    return true;
  }
  bool start_array(std::size_t) override {
    other();
    ++depth_;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    bad_index("it is no JSON at byte " + std::to_string(position == 0 ? 0 : position - 1));
  }

 private:
  // Handles a value that is no file of a tensor.
  bool other() const {
    if (depth_ == 0) bad_index("it is no object");
    if (in_map_) bad_index("tensor " + json_text(key_) + " has something else than the name of a file");
    if (depth_ == 1 && key_ == "weight_map") bad_index("\"weight_map\" is no object");
    return true;
  }
  void check_file(const std::string& file) const {
    if (file.empty() || file == "." || file == ".." || file.find_first_of(std::string_view("/\\:\0", 4)) != file.npos)
      bad_index("tensor " + json_text(key_) + " is in " + json_text(file) + ", which is no file beside the index");
  }

  std::size_t depth_ = 0;
  bool in_map_ = false;
  std::string key_;
};

}  // namespace

WeightMap parse_shard_index(std::string_view text) {
  IndexReader reader;
  json::sax_parse(text.begin(), text.end(), &reader);
  if (!reader.has_map) bad_index("it has no \"weight_map\"");
  return std::move(reader.files);
}

std::string format_shard_index(const WeightMap& files, std::uint64_t total_size) {
  const json index{{"metadata", {{"total_size", total_size}}}, {"weight_map", files}};
  return index.dump(2);  // without a line feed at the end, so that no byte can be cut off unnoticed
}

std::string shard_file(std::size_t shard, std::size_t shards) {
  char text[80];
  std::snprintf(text, sizeof(text), "model-%05zu-of-%05zu.safetensors", shard + 1, shards);
  return text;
}

}  // namespace belay_safetensors
