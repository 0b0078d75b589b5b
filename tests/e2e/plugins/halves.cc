// SPDX-License-Identifier: Apache-2.0
// A saver of two files: halves.index has a line for each tensor, halves.data-0 the elements.
#include <belay/plugin.h>

#include <sstream>
#include <string>

namespace {

class Halves final : public belay::Saver {
 public:
  static constexpr auto about = belay::about("halves", "Stores the variables in two files");

  void write(belay::Directory& directory, const belay::TensorSource& tensors) override {
    std::ostringstream lines;
    belay::File data = directory.create("halves.data-0");
    for (std::uint64_t i = 0; i < tensors.count(); ++i) {
      const auto [name, view] = tensors.get(i);
      lines << name << " " << static_cast<int>(view.dtype()) << " " << view.rank();
      for (const std::int64_t dim : view.dims()) lines << " " << dim;
      lines << "\n";
      data.write(view.data(), view.bytes());
    }
    data.close();
    belay::File index = directory.create("halves.index");
    const std::string text = lines.str();
    index.write(text.data(), text.size());
    index.close();
  }

  void read(belay::Directory& directory, belay::TensorSink& tensors) override {
    const belay::File index = directory.open("halves.index");
    std::string text(index.size(), '\0');
    index.read_at(0, text.data(), text.size());
    const belay::File data = directory.open("halves.data-0");
    std::istringstream lines(text);
    std::uint64_t offset = 0;
    std::string name;
    for (int dtype = 0, rank = 0; lines >> name >> dtype >> rank;) {
      belay::Dims dims(static_cast<std::size_t>(rank));
      std::uint64_t bytes = belay::dtype_size(static_cast<belay::DType>(dtype));
      for (std::int64_t& dim : dims) lines >> dim, bytes *= static_cast<std::uint64_t>(dim);
      if (void* memory = tensors.found(name, static_cast<belay::DType>(dtype), dims))
        data.read_at(offset, memory, bytes);
      offset += bytes;
    }
  }
};

}  // namespace

BELAY_MODULE("1.0.0", Halves)
