// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: CSV files. The first byte is the format: bit 0 a header, bit 1 semicolons, bit 2 a label that is a
// number, bit 3 a line to skip. The last column is the label.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "belay/error.h"
#include "belay/example_split.h"
#include "plugins/inputs/csv/csv_table.h"
#include "tests/fuzz/memory_path.h"

namespace {

using namespace csv_input;

void require(bool holds) {
  if (!holds) std::abort();
}

void read(unsigned format, std::string_view text) {
  const belay_fuzz::MemoryPath path(text);
  const CsvFile file({path.path(), (format & 1) != 0, (format & 2) != 0 ? ';' : ',', (format & 8) != 0});
  TableColumns columns;
  for (std::size_t i = 0; i + 1 < file.columns().size(); ++i) columns.features.push_back(i);
  columns.label = file.columns().size() - 1;
  columns.label_type = (format & 4) != 0 ? LabelType::kFloat : LabelType::kClass;
  static belay::DecodePool pool(1);
  const Table table = parse_table(file, columns, pool);
  const auto rows = static_cast<std::size_t>(file.rows());
  require(table.width == columns.features.size() && table.features.size() == rows * table.width);
  require(table.classes.size() + table.targets.size() == rows);
  const auto train = belay::split_examples(file.rows(), "train", 0.25, 1);
  if (!train.empty()) columns.scales = measure(file, columns.features, train);
  require(parse_table(file, columns, pool, &train).features.size() == train.size() * table.width);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  try {
    read(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
  } catch (const belay::Error&) {
    // Refused, which is right.
  }
  return 0;
}
