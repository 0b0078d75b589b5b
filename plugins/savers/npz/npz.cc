// SPDX-License-Identifier: Apache-2.0
// The saver "npz" writes the variables as arrays of one model.npz for numpy.load. It also reads a single array in the
// form of numpy.save, without an archive.
#include <belay/plugin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "npz_format.h"
#include "plugins/inputs/npy/npy_header.h"
#include "zip_reader.h"
#include "zip_writer.h"

namespace {

using belay::Code;
using belay::DType;
using belay::fail;
using npy_input::NpyHeader;

constexpr std::string_view kFile = "model.npz";
constexpr std::string_view kSuffix = ".npy";
constexpr std::string_view kOnlyArray = "arr_0";  // numpy's name for an array without a name

std::string array_text(std::string_view name) { return "array \"" + std::string(name) + "\""; }

// The source of an array's bytes: an entry of the archive, or the file itself.
struct ArrayBytes {
  std::string name;
  std::uint64_t size = 0;
  std::function<void(void* to, std::uint64_t size)> read;  // reads the next bytes
  std::function<void()> check_end;
};

class ArrayReader {
 public:
  explicit ArrayReader(ArrayBytes bytes) : bytes_(std::move(bytes)) {
    constexpr std::uint64_t kLongestHeader = 1 << 16;
    head_.resize(static_cast<std::size_t>(std::min(bytes_.size, kLongestHeader)));
    bytes_.read(head_.data(), head_.size());
    try {
      header_ = npy_input::parse_npy_header(head_, array_text(bytes_.name) + " ");
    } catch (const belay::Error& e) {
      fail(Code::kDataLoss, std::string("[B4040] the .npz file: ") + e.what());
    }
    dtype_ = npz_saver::dtype_of_descr(header_.descr);
    if (dtype_ != DType::kInvalid) check_size();
  }

  void announce(belay::TensorSink& tensors) {
    if (dtype_ == DType::kInvalid) check_unread();
    void* memory = tensors.found(bytes_.name, dtype_, header_.shape);
    if (memory == nullptr) return;
    auto* to = static_cast<unsigned char*>(memory);
    if (size_ != 0) fill(to);
    bytes_.check_end();
    const std::size_t width = belay::dtype_size(dtype_);
    if (header_.big_endian && width > 1)
      for (std::uint64_t i = 0; i < size_; i += width) std::reverse(to + i, to + i + width);
    if (header_.fortran_order && header_.shape.size() > 1 && size_ != 0) transpose(to, width);
    if (dtype_ == DType::kBool) check_bools(to);
  }

 private:
  [[noreturn]] void damaged(const std::string& text) const {
    fail(Code::kDataLoss, "[B4040] the .npz file: " + array_text(bytes_.name) + " " + text);
  }

  void check_size() {
    const std::uint64_t there = bytes_.size - header_.data_at;
    std::uint64_t nonzero = belay::dtype_size(dtype_);
    bool empty = false;
    for (const std::int64_t d : header_.shape) {
      empty = empty || d == 0;
      if (__builtin_mul_overflow(nonzero, static_cast<std::uint64_t>(std::max<std::int64_t>(d, 1)), &nonzero))
        damaged("has a shape whose size overflows 64 bits");
    }
    size_ = empty ? 0 : nonzero;
    if (size_ != there)
      damaged("has " + std::to_string(there) + " bytes of elements; '" + header_.descr + "' " +
              belay::dims_text(header_.shape) + " has " + std::to_string(size_));
  }

  // The type may be unknown because it is damaged. So this reads to the checksum.
  void check_unread() {
    std::string piece;
    for (std::uint64_t left = bytes_.size - head_.size(); left > 0; left -= piece.size()) {
      piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(left, 1 << 16)));
      bytes_.read(piece.data(), piece.size());
    }
    bytes_.check_end();
  }

  // A part of the elements came with the header.
  void fill(unsigned char* to) {
    const std::uint64_t here = head_.size() - header_.data_at;
    std::memcpy(to, head_.data() + header_.data_at, static_cast<std::size_t>(here));
    bytes_.read(to + here, size_ - here);
  }

  // Reorders elements, so that the last dimension runs fastest and not the first one.
  void transpose(unsigned char* data, std::size_t width) const {
    const std::vector<unsigned char> columns(data, data + size_);
    const belay::Dims& dims = header_.shape;
    belay::Dims at(dims.size(), 0);
    for (unsigned char* to = data; to != data + size_; to += width) {
      std::uint64_t from = 0;
      for (std::size_t d = dims.size(); d-- > 0;)
        from = from * static_cast<std::uint64_t>(dims[d]) + static_cast<std::uint64_t>(at[d]);
      std::memcpy(to, columns.data() + from * width, width);
      for (std::size_t d = dims.size(); d-- > 0 && ++at[d] == dims[d];) at[d] = 0;
    }
  }

  void check_bools(const unsigned char* data) const {
    for (std::uint64_t i = 0; i < size_; ++i)
      if (data[i] > 1) damaged("is of booleans, but element " + std::to_string(i) + " is " + std::to_string(data[i]));
  }

  ArrayBytes bytes_;
  std::string head_;
  NpyHeader header_;
  DType dtype_ = DType::kInvalid;
  std::uint64_t size_ = 0;
};

class Npz final : public belay::Saver {
 public:
  static constexpr auto about = belay::about("npz", "Stores the variables as numpy arrays in one .npz file");

  void write(belay::Directory& directory, const belay::TensorSource& tensors) override {
    std::vector<std::pair<std::string_view, belay::TensorView>> sorted;
    for (std::uint64_t i = 0; i < tensors.count(); ++i) {
      sorted.push_back(tensors.get(i));
      check_storable(sorted.back().first, sorted.back().second);
    }
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    belay::File file = directory.create(kFile);
    npz_saver::ZipWriter zip(file);
    for (const auto& [name, view] : sorted)
      zip.add(std::string(name) + std::string(kSuffix), npz_saver::npy_head(view.dtype(), view.dims()), view.data(),
              view.bytes());
    zip.finish();
    file.close();
  }

  void read(belay::Directory& directory, belay::TensorSink& tensors) override {
    const belay::File file = directory.open(kFile);
    if (is_one_array(file)) return read_one(file, tensors);
    npz_saver::ZipReader zip(file);
    std::uint64_t arrays = 0;
    for (std::uint64_t i = 0; i < zip.count(); ++i) {
      std::string name = zip.name(i);
      if (name.size() < kSuffix.size() || name.substr(name.size() - kSuffix.size()) != kSuffix) continue;
      ++arrays;
      npz_saver::ZipReader::Entry entry(zip, i);
      name.resize(name.size() - kSuffix.size());
      ArrayReader(
          {name, entry.size(), [&](void* to, std::uint64_t n) { entry.read(to, n); }, [&] { entry.check_end(); }})
          .announce(tensors);
    }
    if (arrays == 0 && zip.count() > 0)
      fail(Code::kDataLoss, "[B4041] the .npz file is a zip archive without arrays, it has \"" + zip.name(0) +
                                "\": of a file of torch.save write the tensors with safetensors.torch.save_file, of "
                                "others with numpy.savez");
  }

 private:
  static bool is_one_array(const belay::File& file) {
    constexpr std::string_view kMagic = "\x93NUMPY";
    char begin[kMagic.size()];
    if (file.size() < sizeof(begin)) return false;
    file.read_at(0, begin, sizeof(begin));
    return std::string_view(begin, sizeof(begin)) == kMagic;
  }

  static void read_one(const belay::File& file, belay::TensorSink& tensors) {
    std::uint64_t at = 0;
    const auto next = [&](void* to, std::uint64_t n) {
      if (n != 0) file.read_at(at, to, n);
      at += n;
    };
    ArrayReader({std::string(kOnlyArray), file.size(), next, [] {}}).announce(tensors);
  }

  static void check_storable(std::string_view name, const belay::TensorView& view) {
    constexpr std::size_t kLongestName = 65535;
    constexpr std::size_t kMaxRank = 32;  // numpy's limit
    const std::string variable = "variable \"" + std::string(name) + "\" ";
    if (npz_saver::descr_of(view.dtype()).empty())
      fail(Code::kUnimplemented, "[B4042] " + variable + "is of type " + belay::dtype_name(view.dtype()) +
                                     ", which an .npz file cannot hold");
    if (static_cast<std::size_t>(view.rank()) > kMaxRank)
      fail(Code::kUnimplemented, "[B4042] " + variable + "has " + std::to_string(view.rank()) +
                                     " dimensions; numpy has at most " + std::to_string(kMaxRank));
    if (name.size() + kSuffix.size() > kLongestName || !npz_saver::is_zip_name(name))
      fail(Code::kInvalidArgument, "[B4042] " + variable + "has a name that a zip archive cannot hold; rename it");
  }
};

}  // namespace

BELAY_MODULE("1.0.0", Npz)
