// SPDX-License-Identifier: Apache-2.0
// A saver besides the default one: "name dtype rank dims...\n" and the elements, for each tensor, in one file.
#include <belay/plugin.h>

#include <cstdint>
#include <sstream>
#include <string>

namespace {

class PlainSaver final : public belay::Saver {
 public:
  static constexpr auto about = belay::about("plain_saver", "Writes tensors one behind the other");

  void write(belay::Directory& directory, const belay::TensorSource& tensors) override {
    belay::File file = directory.create("plain");
    for (std::uint64_t i = 0; i < tensors.count(); ++i) {
      const auto [name, tensor] = tensors.get(i);
      std::string line = std::string(name) + " " + std::to_string(static_cast<int>(tensor.dtype())) + " " +
                         std::to_string(tensor.dims().size());
      for (const std::int64_t d : tensor.dims()) line += " " + std::to_string(d);
      line += "\n";
      file.write(line.data(), line.size());
      file.write(tensor.data(), tensor.bytes());
    }
    file.close();
  }

  void read(belay::Directory& directory, belay::TensorSink& tensors) override {
    const belay::File file = directory.open("plain");
    std::string bytes(static_cast<std::size_t>(file.size()), '\0');
    file.read_at(0, bytes.data(), bytes.size());
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t end = bytes.find('\n', at);
      std::istringstream line(bytes.substr(at, end - at));
      std::string name;
      int dtype = 0;
      std::size_t rank = 0, size = 1;
      line >> name >> dtype >> rank;
      belay::Dims dims(rank);
      for (std::int64_t& d : dims) {
        line >> d;
        size *= static_cast<std::size_t>(d);
      }
      const auto type = static_cast<belay::DType>(dtype);
      size *= belay::dtype_size(type);
      if (void* out = tensors.found(name, type, dims)) file.read_at(end + 1, out, size);
      at = end + 1 + size;
    }
  }
};

}  // namespace

BELAY_MODULE("1.0.0", PlainSaver)
