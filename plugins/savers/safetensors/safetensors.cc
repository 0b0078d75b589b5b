// SPDX-License-Identifier: Apache-2.0
// The saver "safetensors": all variables in one file, model.safetensors, as the format's other readers know it.
#include <belay/plugin.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "header.h"

namespace {

using belay::Code;
using belay::DType;
using belay::fail;
using belay_safetensors::Entry;

constexpr std::string_view kFile = "model.safetensors";
// In messages: it may have another name, which the host knows and says.
constexpr const char* kAnyFile = "the .safetensors file";

class Safetensors final : public belay::Saver {
 public:
  static constexpr auto about = belay::about("safetensors", "Stores the variables in one .safetensors file");

  void write(belay::Directory& directory, const belay::TensorSource& tensors) override {
    const std::vector<Placed> placed = place(tensors);
    std::vector<Entry> entries;
    entries.reserve(placed.size());
    for (const Placed& p : placed) entries.push_back(p.entry);
    const std::string header = belay_safetensors::format_header(entries);
    if (header.size() > belay_safetensors::kMaxHeader)
      fail(Code::kResourceExhausted, "the names and shapes of " + std::to_string(entries.size()) +
                                         " tensors do not fit the 100 MB that a safetensors header may have");
    belay::File file = directory.create(kFile);
    file.write(header.data(), header.size());
    for (const Placed& p : placed) file.write(p.data, p.entry.end - p.entry.begin);
    file.close();
  }

  void read(belay::Directory& directory, belay::TensorSink& tensors) override {
    const belay::File file = directory.open(kFile);
    const std::uint64_t size = file.size();
    if (size < belay_safetensors::kLengthBytes)
      damaged("has " + std::to_string(size) + " bytes; the length of the header alone has 8");
    unsigned char length_bytes[belay_safetensors::kLengthBytes];
    file.read_at(0, length_bytes, sizeof(length_bytes));
    std::uint64_t length = 0;
    for (int i = 7; i >= 0; --i) length = length << 8 | length_bytes[i];
    const std::uint64_t room = size - belay_safetensors::kLengthBytes;
    if (length > belay_safetensors::kMaxHeader)
      damaged("says at byte 0 that its header has " + std::to_string(length) + " bytes; at most 100000000 are allowed");
    if (length > room)
      damaged("says at byte 0 that its header has " + std::to_string(length) + " bytes, but only " +
              std::to_string(room) + " follow");
    std::string json(static_cast<std::size_t>(length), '\0');
    file.read_at(belay_safetensors::kLengthBytes, json.data(), length);
    const std::uint64_t data = belay_safetensors::kLengthBytes + length;
    for (const Entry& e : parse(json, size - data)) {
      void* memory = tensors.found(e.name, e.dtype, e.dims);
      if (memory == nullptr || e.begin == e.end) continue;
      file.read_at(data + e.begin, memory, e.end - e.begin);
      if (e.dtype == DType::kBool) check_bools(e, static_cast<const unsigned char*>(memory), data);
    }
  }

 private:
  struct Placed {
    Entry entry;
    const void* data;
  };

  [[noreturn]] static void damaged(const std::string& text) {
    fail(Code::kDataLoss, std::string(kAnyFile) + " " + text);
  }

  static std::vector<Entry> parse(const std::string& json, std::uint64_t data_size) {
    try {
      return belay_safetensors::parse_header(json, data_size);
    } catch (const belay::Error& e) {
      fail(e.code(), std::string(kAnyFile) + ": " + e.what());
    }
  }

  // By alignment, then by name: every tensor then lies at a multiple of its element's size.
  static std::vector<Placed> place(const belay::TensorSource& tensors) {
    std::vector<Placed> placed;
    const std::uint64_t count = tensors.count();
    placed.reserve(static_cast<std::size_t>(count));
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto [name, view] = tensors.get(i);
      check_storable(name, view);
      placed.push_back({{std::string(name), view.dtype(), view.dims(), 0, view.bytes()}, view.data()});
    }
    std::sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) {
      const std::size_t x = belay::dtype_size(a.entry.dtype), y = belay::dtype_size(b.entry.dtype);
      return x != y ? x > y : a.entry.name < b.entry.name;
    });
    std::uint64_t offset = 0;
    for (Placed& p : placed) {
      p.entry.begin = offset;
      p.entry.end += offset;
      offset = p.entry.end;
    }
    return placed;
  }

  static void check_storable(std::string_view name, const belay::TensorView& view) {
    if (name == "__metadata__")
      fail(Code::kInvalidArgument, "the format reserves the name \"__metadata__\"; rename this variable");
    if (view.dtype() == DType::kString || belay::dtype_size(view.dtype()) == 0)
      fail(Code::kUnimplemented, "variable \"" + std::string(name) + "\" is of type " +
                                     belay::dtype_name(view.dtype()) + ", which a .safetensors file cannot hold");
  }

  static void check_bools(const Entry& e, const unsigned char* bytes, std::uint64_t data) {
    for (std::uint64_t i = 0; i < e.end - e.begin; ++i)
      if (bytes[i] > 1)
        damaged("holds " + std::to_string(bytes[i]) + " at byte " + std::to_string(data + e.begin + i) +
                ", in the boolean tensor \"" + e.name + "\"");
  }
};

}  // namespace

BELAY_MODULE("1.0.0", Safetensors)
