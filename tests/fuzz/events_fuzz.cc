// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: event files. With an even first byte the rest is a file as it is; with an odd one it is the
// content of a record, which gets the checksums that belong to it and two neighbours that must survive it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "belay/error.h"
#include "runtime/events/event_reader.h"
#include "runtime/events/event_value.h"
#include "runtime/events/record_writer.h"

namespace {

using namespace belay::runtime;

void require(bool holds) {
  if (!holds) std::abort();
}

class MemoryFile final : public OpenFile {
 public:
  explicit MemoryFile(std::string bytes) : bytes_(std::move(bytes)) {}
  const std::string& path() const override { return path_; }
  void write(const void* data, std::size_t size) override { bytes_.append(static_cast<const char*>(data), size); }
  void write_at(std::uint64_t offset, const void* data, std::size_t size) override {
    require(offset <= bytes_.size() && size <= bytes_.size() - offset);
    std::memcpy(bytes_.data() + offset, data, size);
  }
  void read_at(std::uint64_t offset, void* data, std::size_t size) const override {
    require(offset <= bytes_.size() && size <= bytes_.size() - offset);  // the reader looks at size() first
    std::memcpy(data, bytes_.data() + offset, size);
  }
  std::uint64_t size() const override { return bytes_.size(); }
  void sync() override {}
  void close() override {}

 private:
  std::string bytes_, path_ = "events.out.tfevents.fuzz";
};

// Every call continues or ends the file; one that fails and stays at its place fails for ever.
template <class Reader, class Next>
void read_all(const Reader& reader, Next&& next) {
  for (bool stuck = false;;) {
    const std::uint64_t begin = reader.offset();
    try {
      const bool more = next();
      require(!stuck && more == (reader.offset() > begin));
      if (!more) return;
    } catch (const belay::Error&) {
      require(!stuck || reader.offset() == begin);
      if (stuck) return;
      stuck = reader.offset() == begin;
    }
  }
}

void read_file(std::string bytes) {
  const MemoryFile file(bytes);
  RecordReader records(file);
  std::string record;
  read_all(records, [&] { return records.next(record); });
  require(records.offset() <= file.size());

  EventReader events(std::make_unique<MemoryFile>(std::move(bytes)));
  belay::pb::Event event;
  EventValues values;
  read_all(events, [&] {
    const bool more = events.next(event);
    if (more) values.for_each(event, [](const EventValue& value) { require(!value.kind.empty()); });
    return more;
  });
}

void read_record(std::string_view content) {
  std::string bytes;
  append_record(bytes, "before");
  append_record(bytes, content);
  append_record(bytes, "after");
  const MemoryFile file(bytes);
  RecordReader records(file);
  std::string record;
  require(records.next(record) && record == "before");
  require(records.next(record) && record == content);
  require(records.next(record) && record == "after");
  require(!records.next(record));
  read_file(std::move(bytes));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 0)
    read_file(std::string(rest));
  else
    read_record(rest);
  return 0;
}
