// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: what a training of csv kept of its columns. Each line of the input replaces a part of it:
// "v columns.age.fill=1|2" kept values, "w columns.city.words=a|b" kept words. An input of the model reads with the
// rest.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "belay/testing/input_driver.h"
#include "tests/fuzz/memory_path.h"

extern "C" const belay_module belay_module_csv;

namespace {

using belay::testing::InputDriver;
using belay::testing::LearnedSchema;

constexpr std::string_view kTable =
    "age,size,city,street,since,note,y\n"
    "17,1.5,Bonn,a,2025-01-09,so it is,0\n"
    "NA,2.5,,b,,not so,1\n"
    "71,?,Ulm,c,2024-02-29T13:00,it is late,0\n";

belay::testing::OptionValues options() {
  static const belay_fuzz::MemoryPath path(kTable);
  return {{"path", path.path()}, {"label", "y"}, {"batch_size", 3}};
}

LearnedSchema trained() {
  InputDriver training(belay_module_csv, options());
  training.open();
  return training.schema();
}

std::string_view take(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view first = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return first;
}

void change(LearnedSchema& schema, std::string_view line) {
  const bool values = line.substr(0, 2) == "v ";
  line.remove_prefix(std::min<std::size_t>(2, line.size()));
  const std::string name(take(line, '='));
  std::vector<std::string> words;
  std::vector<double> numbers;
  while (!line.empty()) {
    words.emplace_back(take(line, '|'));
    numbers.push_back(std::strtod(words.back().c_str(), nullptr));
  }
  if (values)
    schema.values[name] = numbers;
  else
    schema.words[name] = words;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const LearnedSchema training = trained();
  LearnedSchema schema = training;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  while (!text.empty()) change(schema, take(text, '\n'));
  try {
    InputDriver input(belay_module_csv, options());
    input.learn(schema, belay::InputUse::kEvaluation);
    input.open();
    input.next();
  } catch (const belay::Error&) {
    // Refused, which is right.
  }
  return 0;
}
