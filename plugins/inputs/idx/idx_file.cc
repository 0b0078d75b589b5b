// SPDX-License-Identifier: Apache-2.0
#include "idx_file.h"

#include <belay/data_file.h>
#include <belay/error.h>
#include <belay/file_kind.h>
#include <belay/gzip_file.h>
#include <belay/tensor.h>

#include <cstdio>
#include <cstring>
#include <limits>

namespace idx_input {
namespace {

using belay::Code;
using belay::fail;

constexpr std::size_t kMaxRank = 8;
constexpr std::uint64_t kMaxDeflateRatio = 1032;  // limit of the content's bytes for each byte of a gzip file

// An open file that is read from start to end.
class IdxReader {
 public:
  IdxReader(std::string_view option, const std::string& path)
      : prefix_(std::string(option) + ": '" + path + "' "), file_(option, path) {}

  // Returns how many of `size` bytes the content still had. It throws if the file is damaged.
  std::size_t read(std::uint8_t* bytes, std::size_t size) { return file_.read(bytes, size); }

  IdxHeader read_header();
  void check_length(const IdxHeader& header);
  // Reads past the last element to gzip's checksum.
  void check_end() {
    std::uint8_t extra = 0;
    if (read(&extra, 1) != 0)
      fail(Code::kDataLoss,
           "[B3023] " + prefix_ + "continues after the elements of its header; it is damaged, so fetch it again");
  }

  const std::string& prefix() const { return prefix_; }

 private:
  std::string prefix_;
  belay::GzipFile file_;
};

bool known_type(std::uint8_t type) {
  switch (static_cast<ElementType>(type)) {
    case ElementType::kUInt8:
    case ElementType::kInt8:
    case ElementType::kInt16:
    case ElementType::kInt32:
    case ElementType::kFloat32:
    case ElementType::kFloat64: return true;
  }
  return false;
}

std::uint64_t big_endian(const std::uint8_t* bytes, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) value = value << 8 | bytes[i];
  return value;
}

template <class Float, class Bits>
double float_value(std::uint64_t bits) {
  const Bits narrow = static_cast<Bits>(bits);
  Float value;
  std::memcpy(&value, &narrow, sizeof(value));
  return static_cast<double>(value);
}

IdxHeader IdxReader::read_header() {
  std::uint8_t magic[4];
  const std::size_t got = read(magic, sizeof(magic));
  if (got == 0) fail(Code::kInvalidArgument, "[B3021] " + prefix_ + "is empty; name an IDX file");
  if (got < sizeof(magic) || magic[0] != 0 || magic[1] != 0 || !known_type(magic[2]) || magic[3] == 0) {
    char text[16] = "0x";
    for (std::size_t i = 0; i < got; ++i) std::snprintf(text + 2 + 2 * i, 3, "%02x", magic[i]);
    std::string begin(reinterpret_cast<const char*>(magic), got);
    begin.resize(512);
    begin.resize(got + read(reinterpret_cast<std::uint8_t*>(begin.data()) + got, begin.size() - got));
    fail(Code::kInvalidArgument,
         "[B3022] " + prefix_ +
             belay::foreign_text(begin, "IDX file", "give the file as its source has it",
                                 std::string("is no IDX file: it begins with ") + text +
                                     ", not with 0x0000, an element type (08, 09, 0b to 0e) and the number of "
                                     "dimensions"));
  }
  if (magic[3] > kMaxRank)
    fail(Code::kInvalidArgument, "[B3024] " + prefix_ + "has " + std::to_string(magic[3]) + " dimensions; at most " +
                                     std::to_string(kMaxRank) + " can be read");
  IdxHeader header;
  header.type = static_cast<ElementType>(magic[2]);
  std::uint8_t dims[4 * kMaxRank];
  const std::size_t size = 4 * std::size_t{magic[3]};
  if (read(dims, size) != size) fail(Code::kDataLoss, "[B3023] " + prefix_ + "ends inside its header; fetch it again");
  for (std::size_t i = 0; i < magic[3]; ++i)
    header.dims.push_back(static_cast<std::int64_t>(big_endian(dims + 4 * i, 4)));
  return header;
}

void IdxReader::check_length(const IdxHeader& header) {
  if (header.records() == 0)
    fail(Code::kFailedPrecondition, "[B3021] " + prefix_ + "holds no records; give a file that has some");
  std::uint64_t bytes = element_size(header.type);
  for (const std::int64_t dim : header.dims) {
    if (dim == 0)
      fail(Code::kInvalidArgument,
           "[B3024] " + prefix_ + "has records of no elements: " + belay::dims_text(header.dims));
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(dim), &bytes) ||
        bytes > static_cast<std::uint64_t>(std::numeric_limits<std::ptrdiff_t>::max()))
      fail(Code::kInvalidArgument, "[B3023] " + prefix_ + "cannot hold " + belay::dims_text(header.dims) +
                                       " elements, which its header declares; it is damaged or no IDX file");
  }
  const std::uint64_t whole = file_.position() + bytes;
  const bool plain = !file_.compressed();
  if (plain ? whole == file_.file_bytes() : whole / kMaxDeflateRatio <= file_.file_bytes()) return;
  fail(Code::kDataLoss, "[B3023] " + prefix_ + "has " + std::to_string(file_.file_bytes()) +
                            (plain ? " bytes; " : " compressed bytes; ") + belay::dims_text(header.dims) +
                            " elements of " + element_name(header.type) + " need " + std::to_string(whole) +
                            "; fetch it again");
}

}  // namespace

std::size_t element_size(ElementType type) {
  switch (type) {
    case ElementType::kUInt8:
    case ElementType::kInt8: return 1;
    case ElementType::kInt16: return 2;
    case ElementType::kInt32:
    case ElementType::kFloat32: return 4;
    case ElementType::kFloat64: return 8;
  }
  return 0;
}

const char* element_name(ElementType type) {
  switch (type) {
    case ElementType::kUInt8: return "uint8";
    case ElementType::kInt8: return "int8";
    case ElementType::kInt16: return "int16";
    case ElementType::kInt32: return "int32";
    case ElementType::kFloat32: return "float32";
    case ElementType::kFloat64: return "float64";
  }
  return "";
}

double element_value(ElementType type, const std::uint8_t* bytes) {
  const std::uint64_t bits = big_endian(bytes, element_size(type));
  switch (type) {
    case ElementType::kUInt8: return static_cast<double>(bits);
    case ElementType::kInt8: return static_cast<std::int8_t>(bits);
    case ElementType::kInt16: return static_cast<std::int16_t>(bits);
    case ElementType::kInt32: return static_cast<std::int32_t>(bits);
    case ElementType::kFloat32: return float_value<float, std::uint32_t>(bits);
    case ElementType::kFloat64: return float_value<double, std::uint64_t>(bits);
  }
  return 0;
}

std::size_t IdxHeader::elements_per_record() const {
  std::size_t n = 1;
  for (std::size_t i = 1; i < dims.size(); ++i) n *= static_cast<std::size_t>(dims[i]);
  return n;
}

IdxHeader read_idx_header(std::string_view option, const std::string& path) {
  IdxReader reader(option, path);
  IdxHeader header = reader.read_header();
  reader.check_length(header);
  return header;
}

std::vector<std::uint8_t> read_idx_elements(std::string_view option, const std::string& path, const IdxHeader& header) {
  IdxReader reader(option, path);
  const IdxHeader again = reader.read_header();
  if (again.type != header.type || again.dims != header.dims)
    fail(Code::kDataLoss, "[B3028] " + reader.prefix() + "was replaced by another one since the run started");
  const std::size_t record = header.bytes_per_record();
  const std::size_t bytes = record * static_cast<std::size_t>(header.records());
  std::vector<std::uint8_t> elements =
      belay::in_memory(option, path, bytes, [&] { return std::vector<std::uint8_t>(bytes); });
  const std::size_t got = reader.read(elements.data(), elements.size());
  if (got != elements.size())
    fail(Code::kDataLoss, "[B3023] " + reader.prefix() + "ends in record " + std::to_string(got / record) + " of " +
                              std::to_string(header.records()) + ", after " + std::to_string(got) + " of " +
                              std::to_string(elements.size()) + " bytes: it was cut short; fetch it again");
  reader.check_end();
  return elements;
}

}  // namespace idx_input
