// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/input_service.h"

#include <gtest/gtest.h>

#include "belay/input.h"
#include "tests/session/session_fixture.h"  // error_of

namespace belay::runtime::testing {
namespace {

// As a plugin declares: two features, one of them of strings, and a label.
class InputService : public ::testing::Test {
 protected:
  InputService() : spec(input_service(), to_handle(&declaration)), batch(declaration.own.components, pool) {
    image = spec.feature("image", DType::kFloat32, {-1, 2});
    name = spec.feature("name", DType::kString, {-1});
    digit = spec.label("digit", DType::kInt64, {-1});
  }
  Batch begin() {
    batch.begin({});
    return Batch(input_service(), to_handle(&batch));
  }

  InputDeclaration declaration;
  InputSpec spec;
  std::shared_ptr<BufferPool> pool = BufferPool::make();
  BatchBuilder batch;
  std::uint32_t image = 9, name = 9, digit = 9;
};

TEST_F(InputService, KeepsDeclarationsInOrder) {
  EXPECT_EQ(image, 0u);
  EXPECT_EQ(name, 1u);
  EXPECT_EQ(digit, 2u);
  ASSERT_EQ(declaration.own.components.size(), 3u);
  EXPECT_FALSE(declaration.own.components[0].label);
  EXPECT_EQ(declaration.own.components[0].name, "image");
  EXPECT_EQ(declaration.own.components[0].dims, (Dims{-1, 2}));
  EXPECT_EQ(declaration.own.components[1].dtype, DType::kString);
  EXPECT_TRUE(declaration.own.components[2].label);
}

TEST_F(InputService, RefusesADeclarationThatCannotBe) {
  EXPECT_EQ(error_of([&] { spec.feature("", DType::kFloat32, {-1}); }),
            "INVALID_ARGUMENT: [B3003] a component of an input needs a name");
  EXPECT_EQ(error_of([&] { spec.label("image", DType::kInt64, {-1}); }),
            "INVALID_ARGUMENT: [B3003] the input declares 'image' twice");
  EXPECT_EQ(error_of([&] { spec.feature("odd", static_cast<DType>(99), {-1}); }),
            "INVALID_ARGUMENT: [B3003] 'odd' has the unknown dtype 99");
  EXPECT_EQ(declaration.own.components.size(), 3u);
}

TEST_F(InputService, T_145_ADimensionIsASizeOrUnknownAndAShapeHasANumberOfBytes) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  EXPECT_EQ(error_of([&] {
              spec.feature("odd", DType::kFloat32, {-5, 4});
            }),
            "INVALID_ARGUMENT: [B3003] 'odd' has the dimension -5; -1 declares one that is known with each batch");
  EXPECT_EQ(error_of([&] {
              spec.feature("huge", DType::kFloat32, {-1, kHuge});
            }),
            "INVALID_ARGUMENT: [B3004] 'huge' (float32 [?, 4611686018427387904]) has more bytes than can be addressed");
  EXPECT_EQ(declaration.own.components.size(), 3u);
  Batch b = begin();
  EXPECT_EQ(
      error_of([&] {
        b.tensor(image, {kHuge, 2});
      }),
      "INVALID_ARGUMENT: [B3004] 'image' (float32 [4611686018427387904, 2]) has more bytes than can be addressed");
}

// The model would be blamed for it, which makes a node of that name.
TEST_F(InputService, T_145_ANameThatNoNodeCanHaveIsRefusedWithTheDeclaration) {
  EXPECT_EQ(error_of([&] { spec.feature("a\n\x1b[31m", DType::kFloat32, {-1}); }),
            "INVALID_ARGUMENT: [B3003] 'a\\n\\x1b[31m' is no name for a component of an input: letters, digits and . _ "
            "- / only");
  EXPECT_EQ(declaration.own.components.size(), 3u);
}

TEST_F(InputService, ClassesAreForIntegers) {
  spec.set_classes(digit, 10);
  EXPECT_EQ(declaration.own.components[digit].classes, 10);
  EXPECT_EQ(declaration.own.components[image].classes, 0);
  EXPECT_EQ(error_of([&] { spec.set_classes(image, 10); }),
            "INVALID_ARGUMENT: [B3003] 'image' (float32) cannot have 10 classes; at least 1, of an integer");
  EXPECT_EQ(error_of([&] { spec.set_classes(digit, 0); }),
            "INVALID_ARGUMENT: [B3003] 'digit' (int64) cannot have 0 classes; at least 1, of an integer");
  EXPECT_EQ(error_of([&] { spec.set_classes(3, 10); }),
            "INVALID_ARGUMENT: [B3004] the input declared 3 components, there is no slot 3");
}

TEST_F(InputService, GivesABatchAsItWasFilled) {
  Batch b = begin();
  float* pixels = b.tensor(image, {1, 2}).data<float>();
  pixels[0] = 0.5f;
  pixels[1] = 1.5f;
  b.tensor(name, {1});
  b.set_string(name, 0, "seven");
  *b.tensor(digit, {1}).data<std::int64_t>() = 7;
  const std::vector<DenseTensor> tensors = batch.finish();
  ASSERT_EQ(tensors.size(), 3u);
  EXPECT_EQ(TensorView(tensors[0].view()).data<const float>()[1], 1.5f);
  EXPECT_EQ(TensorView(tensors[1].view()).text(0), "seven");
  EXPECT_EQ(TensorView(tensors[2].view()).number(0), 7.0);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensors[0].view().data) % kAlignment, 0u);
}

TEST_F(InputService, ChecksShapesAndSlots) {
  const struct {
    std::uint32_t slot;
    Dims dims;
    const char* error;
  } cases[] = {
      {0, {4, 3}, "INVALID_ARGUMENT: [B3004] 'image' was declared [?, 2], the batch has [4, 3]"},
      {0, {4}, "INVALID_ARGUMENT: [B3004] 'image' was declared [?, 2], the batch has [4]"},
      {2, {-1}, "INVALID_ARGUMENT: [B3004] 'digit' was declared [?], the batch has [?]"},
      {3, {4}, "INVALID_ARGUMENT: [B3004] the input declared 3 components, there is no slot 3"},
  };
  Batch b = begin();
  for (const auto& c : cases) EXPECT_EQ(error_of([&] { b.tensor(c.slot, c.dims); }), c.error);
}

TEST_F(InputService, ChecksTextElements) {
  Batch b = begin();
  EXPECT_EQ(error_of([&] { b.set_string(name, 0, "too early"); }),
            "INVALID_ARGUMENT: [B3004] 'name' has no string element 0");
  b.tensor(name, {2});
  EXPECT_EQ(error_of([&] { b.set_string(name, 2, "too far"); }),
            "INVALID_ARGUMENT: [B3004] 'name' has no string element 2");
  b.tensor(digit, {2});
  EXPECT_EQ(error_of([&] { b.set_string(digit, 0, "no text"); }),
            "INVALID_ARGUMENT: [B3004] 'digit' has no string element 0");
}

TEST_F(InputService, NamesWhatABatchLacks) {
  Batch b = begin();
  b.tensor(image, {2, 2});
  b.tensor(name, {2});
  EXPECT_EQ(error_of([&] { batch.finish(); }), "INTERNAL: [B3004] the batch lacks 'digit': the input did not fill it");
  b.tensor(digit, {3});
  EXPECT_EQ(error_of([&] { batch.finish(); }), "INTERNAL: [B3004] 'image' has 2 examples, 'digit' has 3");
}

// Its loss would be 0 / 0, and the training "diverged".
TEST_F(InputService, T_145_ABatchWithoutRowsIsNone) {
  Batch b = begin();
  b.tensor(image, {0, 2});
  b.tensor(name, {0});
  b.tensor(digit, {0});
  EXPECT_EQ(error_of([&] { batch.finish(); }),
            "INTERNAL: [B3004] 'image' has 0 rows: an input delivers none, and its end is OUT_OF_RANGE");
}

// The loss would be blamed for it, which has no name of the input.
TEST_F(InputService, T_145_AValueThatIsNoneOfTheDeclaredClassesIsRefused) {
  spec.set_classes(digit, 10);
  const std::uint32_t byte = spec.feature("byte", DType::kUInt8, {-1}),
                      small = spec.feature("small", DType::kInt32, {-1});
  spec.set_classes(byte, 200);
  spec.set_classes(small, 3);
  const auto error = [&](std::int64_t of_digit, std::uint8_t of_byte, std::int32_t of_small) {
    Batch b = begin();
    b.tensor(image, {2, 2});
    b.tensor(name, {2});
    std::int64_t* digits = b.tensor(digit, {2}).data<std::int64_t>();
    digits[0] = 9, digits[1] = of_digit;
    std::uint8_t* bytes = b.tensor(byte, {2}).data<std::uint8_t>();
    bytes[0] = of_byte, bytes[1] = 0;
    std::int32_t* smalls = b.tensor(small, {2}).data<std::int32_t>();
    smalls[0] = 0, smalls[1] = of_small;
    return error_of([&] { batch.finish(); });
  };
  EXPECT_EQ(error(0, 199, 2), "no error");
  const std::string of_digit = "INVALID_ARGUMENT: [B3007] 'digit' has the value ",
                    why = ", and was declared with 10 classes: they count from 0";
  EXPECT_EQ(error(1'000'000'000, 199, 2), of_digit + "1000000000 in element 1" + why);
  EXPECT_EQ(error(-1, 199, 2), of_digit + "-1 in element 1" + why);
  EXPECT_EQ(error(0, 200, 2),
            "INVALID_ARGUMENT: [B3007] 'byte' has the value 200 in element 0, and was declared with 200 classes: they "
            "count from "
            "0");
  EXPECT_EQ(error(0, 199, -1),
            "INVALID_ARGUMENT: [B3007] 'small' has the value -1 in element 1, and was declared with 3 classes: they "
            "count from 0");
}

// An earlier batch leaves nothing.
TEST_F(InputService, BeginsEachBatchEmpty) {
  Batch b = begin();
  b.tensor(image, {1, 2});
  b.tensor(name, {1});
  b.tensor(digit, {1});
  batch.begin(batch.finish());
  EXPECT_EQ(error_of([&] { batch.finish(); }), "INTERNAL: [B3004] the batch lacks 'image': the input did not fill it");
}

TEST_F(InputService, ClassNamesAreKeptAndAreAsManyAsTheClasses) {
  {
    std::vector<std::string> names{"cat", "dog"};
    spec.set_class_names(digit, names);
    names[0] = "was copied";
  }
  EXPECT_EQ(declaration.own.components[digit].class_names, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(declaration.own.components[digit].classes, 2);
  spec.set_classes(digit, 2);
  spec.set_class_names(digit, {"a", std::string("\0\xff", 2)});
  EXPECT_EQ(declaration.own.components[digit].class_names, (std::vector<std::string>{"a", std::string("\0\xff", 2)}));
}

TEST_F(InputService, RefusesClassNamesThatCannotBe) {
  EXPECT_EQ(error_of([&] { spec.set_class_names(image, {"a"}); }),
            "INVALID_ARGUMENT: [B3003] 'image' (float32) cannot have 1 classes; at least 1, of an integer");
  EXPECT_EQ(error_of([&] { spec.set_class_names(digit, {}); }),
            "INVALID_ARGUMENT: [B3003] 'digit' (int64) cannot have 0 classes; at least 1, of an integer");
  EXPECT_EQ(error_of([&] { spec.set_class_names(3, {"a"}); }),
            "INVALID_ARGUMENT: [B3004] the input declared 3 components, there is no slot 3");
  EXPECT_EQ(error_of([&] {
              spec.set_class_names(digit, {"a", "b\n", "b\n"});
            }),
            "INVALID_ARGUMENT: [B3003] 'digit' has the class name 'b\\n' twice, for 1 and 2");
  EXPECT_EQ(declaration.own.components[digit].classes, 0);
  EXPECT_TRUE(declaration.own.components[digit].class_names.empty());
  detail::Status status;
  EXPECT_EQ(input_service()->set_class_names(to_handle(&declaration), digit, nullptr, 2, status),
            BELAY_INVALID_ARGUMENT);
}

TEST_F(InputService, ClassesAndClassNamesAreOfOneNumberInEitherOrder) {
  spec.set_classes(digit, 3);
  EXPECT_EQ(error_of([&] {
              spec.set_class_names(digit, {"a", "b"});
            }),
            "INVALID_ARGUMENT: [B3003] 'digit' has 3 classes and 2 class names");
  EXPECT_TRUE(declaration.own.components[digit].class_names.empty());
  spec.set_class_names(digit, {"a", "b", "c"});
  EXPECT_EQ(error_of([&] { spec.set_classes(digit, 2); }),
            "INVALID_ARGUMENT: [B3003] 'digit' has 2 classes and 3 class names");
  EXPECT_EQ(declaration.own.components[digit].classes, 3);
}

TEST_F(InputService, DeclaresItsLabelsToModels) {
  spec.set_classes(digit, 10);
  const std::vector<DeclaredLabel> labels = declared_labels(declaration.own.components);
  ASSERT_EQ(labels.size(), 1u);
  EXPECT_EQ(labels[0].text(), "'digit' (int64 [?])");
  EXPECT_EQ(labels[0].classes, 10);
}

}  // namespace
}  // namespace belay::runtime::testing
