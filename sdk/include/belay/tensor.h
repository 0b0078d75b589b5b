// SPDX-License-Identifier: Apache-2.0
// Element types, views of tensors, and an owning tensor.
//
// A tensor is dense and row-major: in a tensor of dimensions [2, 3], element [i, j] is number 3 i + j. A scalar has
// rank 0 and one element. A tensor with a dimension of 0 has no elements, and its data may be null. TensorView borrows:
// the call that returned it states how long it is valid (a hook's values: until after_run returns). Tensor owns a copy,
// for feeds and for values to keep.
//
//   const belay::TensorView loss = values[fetch];          // borrowed
//   const float now = loss.scalar<float>();                // INVALID_ARGUMENT unless it is float32 with one element
//   kept_ = belay::Tensor(loss);                           // a copy that lives as long as kept_
//   const belay::Tensor m({2, 3}, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f});  // float32 [2, 3], row by row
//
//   belay::Tensor words(belay::DType::kString, {2});       // two empty strings
//   words.set_text(0, "one");
//   words.set_text(1, "two");
//
//   for (std::int64_t i = 0; i < batch.dim(0); ++i)        // batch [n, 784]
//     sum(batch.row(i).data<const float>(), 784);
//
//   dtype      C++            bytes   in docs/reference/ops.md
//   float32    float          4       floats, numbers
//   float64    double         8       floats, numbers
//   int32      std::int32_t   4       numbers
//   int64      std::int64_t   8       numbers
//   uint8      std::uint8_t   1       numbers
//   bool       bool           1
//   string     belay_str              any length; arbitrary bytes, UTF-8 if people read them
//   bfloat16                  2       storage: Cast makes float32 of them and back
//   float16                   2       storage
//
// Neither class locks. Several threads may read one tensor at once, but Tensor::view() of a string tensor writes into
// it. Elements are in this process's memory. A receiver refuses a tensor with an unknown device or flag.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "belay/error.h"

namespace belay {
inline namespace v0 {

// Element types. The numbers are those of TensorFlow's DataType, so checkpoints and event files use them too.
enum class DType : std::int32_t {
  // No dtype: an operation's value, or a default-made Tensor.
  kInvalid = 0,
  // The type of most models; it has the fastest kernels.
  kFloat32 = BELAY_FLOAT32,
  // For metrics and schedules, whose sums of many terms must not lose digits.
  kFloat64 = BELAY_FLOAT64,
  // Indices that operations return, such as those of top_k.
  kInt32 = BELAY_INT32,
  // Pixels and other bytes, as files have them. Cast them before you compute.
  kUInt8 = BELAY_UINT8,
  // Elements of any length, arbitrary bytes. A view of them is an array of belay_str.
  kString = BELAY_STRING,
  // Labels, ids, steps, dimensions.
  kInt64 = BELAY_INT64,
  // One byte, 0 or 1.
  kBool = BELAY_BOOL,
  // Two bytes, for storage only: the upper half of a float32. Operations cast it to float32 to compute.
  kBFloat16 = BELAY_BFLOAT16,
  // Two bytes, for storage only: IEEE 754 binary16.
  kFloat16 = BELAY_FLOAT16,
};

// Returns "float32", "int64" ..., as messages, manifests and docs/reference/ops.md spell them. It is "invalid" for
// kInvalid and for an unknown number. The result is a string literal: always valid.
inline const char* dtype_name(DType t) noexcept {
  switch (t) {
    case DType::kFloat32: return "float32";
    case DType::kFloat64: return "float64";
    case DType::kInt32: return "int32";
    case DType::kUInt8: return "uint8";
    case DType::kString: return "string";
    case DType::kInt64: return "int64";
    case DType::kBool: return "bool";
    case DType::kBFloat16: return "bfloat16";
    case DType::kFloat16: return "float16";
    case DType::kInvalid: break;
  }
  return "invalid";
}

// Bytes of one element; for a string the bytes of a belay_str, without its characters. 0 for an unknown number.
inline std::size_t dtype_size(DType t) noexcept {
  switch (t) {
    case DType::kFloat32:
    case DType::kInt32: return 4;
    case DType::kFloat64:
    case DType::kInt64: return 8;
    case DType::kUInt8:
    case DType::kBool: return 1;
    case DType::kBFloat16:
    case DType::kFloat16: return 2;
    case DType::kString: return sizeof(belay_str);
    case DType::kInvalid: break;
  }
  return 0;
}

namespace detail {
// Maps a C++ type to its dtype; other types do not compile. bfloat16 and float16 have no C++ type: read them with
// TensorView::number, write them with a cast in the graph.
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> : std::integral_constant<DType, DType::kFloat32> {};
template <>
struct DTypeOf<double> : std::integral_constant<DType, DType::kFloat64> {};
template <>
struct DTypeOf<std::int32_t> : std::integral_constant<DType, DType::kInt32> {};
template <>
struct DTypeOf<std::uint8_t> : std::integral_constant<DType, DType::kUInt8> {};
template <>
struct DTypeOf<std::int64_t> : std::integral_constant<DType, DType::kInt64> {};
template <>
struct DTypeOf<bool> : std::integral_constant<DType, DType::kBool> {};
template <>
struct DTypeOf<belay_str> : std::integral_constant<DType, DType::kString> {};
template <>
struct DTypeOf<std::string_view> : std::integral_constant<DType, DType::kString> {};

// Returns the value of an IEEE half from its bits. It is exact, also for infinities, NaN and denormal halves.
inline double half_to_double(std::uint16_t bits) noexcept {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  const double magnitude = exponent == 31  ? (fraction == 0 ? HUGE_VAL : std::nan(""))
                           : exponent == 0 ? std::ldexp(fraction, -24)
                                           : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}
}  // namespace detail

// The dtype of a C++ type: dtype_of<float> is DType::kFloat32. It ignores const and volatile.
template <class T>
inline constexpr DType dtype_of = detail::DTypeOf<std::remove_cv_t<T>>::value;

// Dimensions of a tensor or of a partial shape, outermost first; -1 is unknown. A scalar has none. Dims cannot express
// an unknown rank (see Output::rank).
using Dims = std::vector<std::int64_t>;

// Formats dimensions for messages: "[2, ?, 3]". An unknown dimension is "?"; an unknown rank (rank < 0) is "[...]".
inline std::string dims_text(const std::int64_t* dims, std::int32_t rank) {
  if (rank < 0) return "[...]";
  std::string text = "[";
  for (std::int32_t i = 0; i < rank; ++i) {
    if (i != 0) text += ", ";
    text += dims[i] < 0 ? std::string("?") : std::to_string(dims[i]);
  }
  return text + "]";
}
// Does the same for a known rank.
inline std::string dims_text(const Dims& dims) {
  return dims_text(dims.data(), static_cast<std::int32_t>(dims.size()));
}

namespace detail {
// Builds the struct of a tensor in this process's memory. It borrows dimensions and data; both must live as long as the
// result.
inline belay_tensor raw_tensor(DType dtype, std::int32_t rank, const std::int64_t* dims, void* data, std::size_t bytes,
                               std::uint32_t flags = 0) noexcept {
  return {static_cast<std::int32_t>(dtype), rank, dims, bytes == 0 ? nullptr : data, bytes, BELAY_DEVICE_HOST, flags};
}
// Builds a struct of dtype and shape alone: data null, bytes 0. Rank and dimensions may be -1: unknown.
inline belay_tensor described(DType dtype, std::int32_t rank, const std::int64_t* dims) noexcept {
  return raw_tensor(dtype, rank, dims, nullptr, 0);
}

// Refuses a tensor that this side cannot read: memory of another device, or a flag of a later version. UNIMPLEMENTED.
inline void check_device(const belay_tensor& t) {
  if (t.device != BELAY_DEVICE_HOST)
    fail(Code::kUnimplemented, "the tensor lies on device " + std::to_string(t.device) +
                                   "; this side only reads the host's memory (device 0)");
  if ((t.flags & ~std::uint32_t{BELAY_TENSOR_READ_ONLY}) != 0)
    fail(Code::kUnimplemented, "the tensor has the unknown flag " +
                                   std::to_string(t.flags & ~std::uint32_t{BELAY_TENSOR_READ_ONLY}) +
                                   "; this side was built before it");
}
// Largest plausible rank. A struct with more dimensions counts as damaged.
inline constexpr std::int32_t kMaxRank = 64;

// Checks that the fields of the other side's tensor are consistent, before its elements are read. The dtype is known,
// rank is in [0, kMaxRank], and no dimension is negative. bytes is the product of the dimensions times dtype_size. data
// is not null unless there are no elements. INVALID_ARGUMENT names the field.
inline void check_tensor(const belay_tensor& t) {
  const auto refuse = [](const std::string& text) { fail(Code::kInvalidArgument, "the tensor has " + text); };
  check_device(t);
  const std::size_t element = dtype_size(static_cast<DType>(t.dtype));
  if (element == 0) refuse("the unknown dtype " + std::to_string(t.dtype));
  if (t.rank < 0 || t.rank > kMaxRank) refuse("rank " + std::to_string(t.rank));
  if (t.rank > 0 && t.dims == nullptr) refuse("no dimensions (dims is null)");
  std::uint64_t bytes = element;
  for (std::int32_t i = 0; i < t.rank; ++i) {
    if (t.dims[i] < 0) refuse("the dimension " + std::to_string(t.dims[i]) + " on axis " + std::to_string(i));
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(t.dims[i]), &bytes))
      refuse("more bytes than can be counted: " + dims_text(t.dims, t.rank));
  }
  if (t.bytes != bytes)
    refuse("bytes = " + std::to_string(t.bytes) + ", a " + dtype_name(static_cast<DType>(t.dtype)) + " tensor of " +
           dims_text(t.dims, t.rank) + " has " + std::to_string(bytes));
  if (bytes != 0 && t.data == nullptr) refuse("no elements (data is null)");
}
}  // namespace detail

// A borrowed tensor: dtype, dimensions and a pointer, cheap to copy. It does not keep elements or dimensions alive.
// Accessors do not check indices.
class TensorView {
 public:
  // Makes an empty view: has_value() is false, and only dtype() may be called.
  TensorView() noexcept : t_{} {}
  // Wraps a struct without a check. The SDK checks tensors of the other side with detail::check_tensor when they
  // arrive.
  TensorView(const belay_tensor& t) noexcept : t_(t) {}

  // Element type; kInvalid for the value of an operation.
  DType dtype() const noexcept { return static_cast<DType>(t_.dtype); }
  // Number of dimensions; 0 for a scalar.
  std::int32_t rank() const noexcept { return t_.rank; }
  // Dimension i, 0 <= i < rank(). A negative i does not count from the end here.
  std::int64_t dim(std::int32_t i) const noexcept { return t_.dims[i]; }
  // Returns a copy of the dimensions, which allocates: use dim() in a loop.
  Dims dims() const { return t_.rank == 0 ? Dims{} : Dims(t_.dims, t_.dims + t_.rank); }
  // Number of elements: 1 for a scalar, 0 if a dimension is 0.
  std::size_t size() const noexcept {
    std::size_t n = 1;
    for (std::int32_t i = 0; i < t_.rank; ++i) n *= static_cast<std::size_t>(t_.dims[i]);
    return n;
  }
  // Bytes of the elements: size() * dtype_size(dtype()), for a memcpy. The characters of strings are not included.
  std::size_t bytes() const noexcept { return size() * dtype_size(dtype()); }
  // False for the value of an operation, and for a default-made view. All fetched tensors have a value.
  bool has_value() const noexcept { return t_.dtype != 0; }
  // True if the elements must not be written: a hook's values, an operation's inputs. mutable_data() does not check it.
  bool read_only() const noexcept { return (t_.flags & BELAY_TENSOR_READ_ONLY) != 0; }
  // Returns the struct for a slot of belay/abi. Valid as long as this view object.
  const belay_tensor& raw() const noexcept { return t_; }

  // Part i of the first axis, in the same memory. The rank is one less: [n, h, w] becomes [h, w]. 0 <= i < dim(0) and
  // rank >= 1; neither is checked.
  TensorView row(std::int64_t i) const noexcept {
    belay_tensor part = t_;
    --part.rank;
    ++part.dims;
    part.bytes = t_.bytes / static_cast<std::uint64_t>(t_.dims[0]);
    if (part.bytes != 0) part.data = static_cast<char*>(t_.data) + static_cast<std::uint64_t>(i) * part.bytes;
    return part;
  }

  // The elements as bytes, for dtypes without a C++ type and for copies. Null if there are none.
  const void* data() const noexcept { return t_.data; }
  // The elements for writing, if the tensor was passed to be filled: a batch's tensor, an operation's outputs.
  void* mutable_data() const noexcept { return t_.data; }
  // The elements as T: `view.data<const float>()` to read, `data<float>()` to fill. Nothing is converted. Strings are
  // belay_str; data<bool>() is an array of bool. Null if there are no elements. INVALID_ARGUMENT, with both types: T is
  // not the dtype.
  template <class T>
  T* data() const {
    using Element = std::remove_cv_t<T>;
    if (dtype() != dtype_of<Element>)
      fail(Code::kInvalidArgument,
           std::string("the tensor is ") + dtype_name(dtype()) + ", not " + dtype_name(dtype_of<Element>));
    return static_cast<T*>(t_.data);
  }
  // Returns the only element, of a scalar or of a tensor of any rank. scalar<std::string_view>() borrows from the
  // tensor. INVALID_ARGUMENT: another number of elements, or a wrong T.
  template <class T>
  T scalar() const {
    if (size() != 1) fail(Code::kInvalidArgument, "expected a scalar, got shape " + dims_text(t_.dims, t_.rank));
    if constexpr (std::is_same_v<T, std::string_view>) {
      return text(0);
    } else {
      return *data<const T>();
    }
  }
  // String i, row-major, valid as long as the elements. Copy it into a std::string to keep it. INVALID_ARGUMENT: the
  // dtype is not string.
  std::string_view text(std::size_t i) const { return detail::view(data<const belay_str>()[i]); }
  // Element i of any numeric dtype or bool as double, row-major. It is the only way to read bfloat16 and float16. int64
  // beyond 2^53 is rounded. It tests the dtype at each call: use data<T>() in a loop over many elements.
  // INVALID_ARGUMENT: a string tensor.
  double number(std::size_t i) const {
    switch (dtype()) {
      case DType::kFloat32: return static_cast<const float*>(t_.data)[i];
      case DType::kFloat64: return static_cast<const double*>(t_.data)[i];
      case DType::kInt32: return static_cast<const std::int32_t*>(t_.data)[i];
      case DType::kInt64: return static_cast<double>(static_cast<const std::int64_t*>(t_.data)[i]);
      case DType::kUInt8:
      case DType::kBool: return static_cast<const std::uint8_t*>(t_.data)[i];
      case DType::kBFloat16: {
        const std::uint32_t bits = static_cast<std::uint32_t>(static_cast<const std::uint16_t*>(t_.data)[i]) << 16;
        float f;
        std::memcpy(&f, &bits, sizeof(f));
        return f;
      }
      case DType::kFloat16: return detail::half_to_double(static_cast<const std::uint16_t*>(t_.data)[i]);
      default: fail(Code::kInvalidArgument, std::string("a ") + dtype_name(dtype()) + " tensor has no numbers to read");
    }
  }

 private:
  belay_tensor t_;
};

// An owning tensor. It is movable and copyable; a copy is deep. It keeps strings as std::string. A default-made Tensor
// is empty: dtype kInvalid, no dimensions.
//
// The dimensions and the dtype of a Tensor are fixed; an assignment of another Tensor replaces them. A Tensor converts
// to a TensorView without a copy.
class Tensor {
 public:
  Tensor() = default;
  // Makes a tensor of zeros (strings: empty). Dimensions must be known; a negative one ends in a std::length_error or
  // std::bad_alloc. bfloat16 and float16 are allowed: each element is two zero bytes.
  Tensor(DType dtype, Dims dims) : dtype_(dtype), dims_(std::move(dims)) { allocate(); }
  // Makes a scalar: Tensor(1.0f) is float32, Tensor(1.0) float64, Tensor(std::int64_t{1}) int64. It copies a
  // string_view. It is implicit, so a number can be passed as a Tensor:
  //
  //   session.run({loss}, {{rate, Tensor(0.1f)}, {mode, Tensor(std::string_view("fast"))}})
  template <class T, class = decltype(detail::DTypeOf<T>::value)>
  Tensor(T scalar) : dtype_(dtype_of<T>) {
    allocate();
    if constexpr (std::is_same_v<T, std::string_view>) {
      set_text(0, scalar);
    } else {
      std::memcpy(bytes_.data(), &scalar, sizeof(T));
    }
  }
  // Makes a tensor of elements, row by row. T fixes the dtype and nothing is converted: {1, 2} is int32, {1.0, 2.0}
  // float64. It copies string_views. INVALID_ARGUMENT: the number of elements does not match the dimensions.
  template <class T>
  Tensor(Dims dims, const std::vector<T>& values) : dtype_(dtype_of<T>), dims_(std::move(dims)) {
    allocate();
    if (values.size() != count_)
      fail(Code::kInvalidArgument,
           std::to_string(values.size()) + " values do not fill a tensor of shape " + dims_text(dims_));
    if constexpr (std::is_same_v<T, bool>) {
      for (std::size_t i = 0; i < count_; ++i) bytes_[i] = values[i] ? 1 : 0;
    } else if constexpr (std::is_same_v<T, std::string_view>) {
      for (std::size_t i = 0; i < count_; ++i) set_text(i, values[i]);
    } else if (count_ != 0) {
      std::memcpy(bytes_.data(), values.data(), bytes_.size());
    }
  }
  // Does the same with elements in braces: Tensor({2}, {1.f, 2.f}). An empty list needs an explicit T.
  template <class T>
  Tensor(Dims dims, std::initializer_list<T> values) : Tensor(std::move(dims), std::vector<T>(values)) {}
  // Copies a view's elements, strings too; the copy outlives the view. It is explicit, because it allocates.
  explicit Tensor(const TensorView& view) : dtype_(view.dtype()), dims_(view.dims()) {
    allocate();
    if (dtype_ == DType::kString) {
      for (std::size_t i = 0; i < count_; ++i) set_text(i, view.text(i));
    } else if (!bytes_.empty()) {
      std::memcpy(bytes_.data(), view.data(), bytes_.size());
    }
  }

  // Element type; kInvalid if it is default-made.
  DType dtype() const noexcept { return dtype_; }
  // Dimensions, valid until the tensor is assigned to.
  const Dims& dims() const noexcept { return dims_; }
  // Number of elements; 0 if it is default-made.
  std::size_t size() const noexcept { return count_; }
  // Sets string i of a string tensor to a copy. std::out_of_range: i >= size(), or another dtype.
  void set_text(std::size_t i, std::string_view text) { texts_.at(i) = std::string(text); }
  // The elements for filling, as TensorView::data. The pointer is invalid after an assignment to the tensor. Use
  // set_text for strings: writes to their belay_str array are lost.
  template <class T>
  T* data() {
    return TensorView(view()).template data<T>();
  }
  // Returns the struct that crosses the boundary. Valid until the tensor changes or ends; for strings also until the
  // next view().
  belay_tensor view() const {
    void* data = const_cast<unsigned char*>(bytes_.data());
    if (dtype_ == DType::kString) {
      text_views_.resize(count_);
      for (std::size_t i = 0; i < count_; ++i) text_views_[i] = detail::str(texts_[i]);
      data = text_views_.data();
    }
    return detail::raw_tensor(dtype_, static_cast<std::int32_t>(dims_.size()), dims_.data(), data,
                              count_ * dtype_size(dtype_));
  }
  // Converts to a view. Do not keep the view of a temporary.
  operator TensorView() const { return TensorView(view()); }

 private:
  // Makes the elements of dims_, all zero. Each constructor calls it once.
  void allocate() {
    count_ = 1;
    for (const std::int64_t d : dims_) count_ *= static_cast<std::size_t>(d);
    if (dtype_ == DType::kString) {
      texts_.resize(count_);
    } else {
      bytes_.resize(count_ * dtype_size(dtype_));
    }
  }

  DType dtype_ = DType::kInvalid;
  Dims dims_;
  std::size_t count_ = 0;
  std::vector<unsigned char> bytes_;
  std::vector<std::string> texts_;
  // The array that view() of a string tensor points at. Each view() makes it again, because strings may have moved.
  mutable std::vector<belay_str> text_views_;
};

}  // namespace v0
}  // namespace belay
