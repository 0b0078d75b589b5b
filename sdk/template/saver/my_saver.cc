// Keeps all variables in one file, variables.bin:
//
//   "my_saver\n"
//   per tensor: name length, name, dtype, rank, dims, elements      lengths, dtype, rank, dims: int64, little-endian
//   0                                                               no name is empty: the end
//
// The host passes an open directory and does the rest: checksums, fsync, rename, retention.
#include <belay/plugin.h>

#include <cstring>
#include <string>
#include <string_view>

namespace {

constexpr std::string_view kFile = "variables.bin";
constexpr std::string_view kMagic = "my_saver\n";
constexpr std::int64_t kLongestName = 4096, kHighestRank = 32;

[[noreturn]] void damaged(const std::string& text) {
  belay::fail(belay::Code::kDataLoss, std::string(kFile) + " " + text);
}

// Reads the file from its start; a read past the end is DATA_LOSS.
class Cursor {
 public:
  explicit Cursor(const belay::File& file) : file_(file), size_(file.size()) {}
  std::uint64_t offset() const { return offset_; }
  std::uint64_t left() const { return size_ - offset_; }
  void read(void* data, std::uint64_t size) {
    if (size > left()) damaged("ends at byte " + std::to_string(size_) + ", inside a tensor");
    file_.read_at(offset_, data, size);
    offset_ += size;
  }
  void skip(std::uint64_t size) {
    if (size > left()) damaged("ends at byte " + std::to_string(size_) + ", inside a tensor");
    offset_ += size;
  }
  std::int64_t number(std::int64_t least, std::int64_t most, const char* what) {
    const std::uint64_t at = offset_;
    std::int64_t n = 0;
    read(&n, sizeof(n));
    if (n < least || n > most)
      damaged("has the " + std::string(what) + " " + std::to_string(n) + " at byte " + std::to_string(at));
    return n;
  }

 private:
  const belay::File& file_;
  const std::uint64_t size_;
  std::uint64_t offset_ = 0;
};

class MySaver final : public belay::Saver {
 public:
  static constexpr auto about = belay::about("my_saver", "Stores the variables in one plain binary file");

  void write(belay::Directory& directory, const belay::TensorSource& tensors) override {
    belay::File file = directory.create(kFile);
    file.write(kMagic.data(), kMagic.size());
    const auto number = [&](std::int64_t n) { file.write(&n, sizeof(n)); };
    for (std::uint64_t i = 0; i < tensors.count(); ++i) {
      const auto [name, value] = tensors.get(i);
      if (value.dtype() == belay::DType::kString)
        belay::fail(belay::Code::kUnimplemented,
                    "variable '" + std::string(name) + "' is of type string, which this saver cannot keep");
      number(static_cast<std::int64_t>(name.size()));
      file.write(name.data(), name.size());
      number(static_cast<std::int64_t>(value.dtype()));
      number(static_cast<std::int64_t>(value.dims().size()));
      for (const std::int64_t d : value.dims()) number(d);
      file.write(value.data(), value.bytes());
    }
    number(0);
    file.close();
  }

  // Announces every tensor; the host returns memory for those that it wants.
  void read(belay::Directory& directory, belay::TensorSink& tensors) override {
    const belay::File file = directory.open(kFile);
    Cursor in(file);
    std::string magic(kMagic.size(), '\0');
    if (in.left() < magic.size()) damaged("has only " + std::to_string(in.left()) + " bytes");
    in.read(magic.data(), magic.size());
    if (magic != kMagic) damaged("does not begin as a file of my_saver does");
    while (const std::int64_t length = in.number(0, kLongestName, "name length")) read_tensor(in, length, tensors);
    if (in.left() != 0) damaged("has data after its end at byte " + std::to_string(in.offset()));
  }

 private:
  static void read_tensor(Cursor& in, std::int64_t name_length, belay::TensorSink& tensors) {
    std::string name(static_cast<std::size_t>(name_length), '\0');
    in.read(name.data(), name.size());
    const auto dtype = static_cast<belay::DType>(in.number(1, 1 << 16, "dtype"));
    const std::uint64_t width = belay::dtype_size(dtype);
    if (width == 0 || dtype == belay::DType::kString) damaged("has an unknown dtype for '" + name + "'");
    belay::Dims dims(static_cast<std::size_t>(in.number(0, kHighestRank, "rank")));
    std::uint64_t elements = 1;
    for (std::int64_t& d : dims) {
      // No dimension can be larger than the rest of the file, so the product cannot overflow.
      d = in.number(0, static_cast<std::int64_t>(in.left()), "dimension");
      elements *= static_cast<std::uint64_t>(d);
      if (elements > in.left()) damaged("ends before the elements of '" + name + "'");
    }
    void* memory = tensors.found(name, dtype, dims);
    if (memory == nullptr) {
      in.skip(elements * width);
    } else {
      in.read(memory, elements * width);
    }
  }
};

}  // namespace

BELAY_MODULE("0.1.0", MySaver)
