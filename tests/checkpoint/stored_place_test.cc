// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/read/stored_place.h"

#include <filesystem>

#include "runtime/checkpoint/write/checkpoint_writer.h"
#include "tests/checkpoint/run_directory_fixture.h"

namespace belay::runtime {
namespace {

class StoredPlaceTest : public RunDirectoryTest {
 protected:
  void save(std::int64_t step) { write_checkpoint(*run_, StepContent(step).content(), saver_.use(), log_); }
  StoredPlace find(const std::string& name) { return find_stored(files_, dir_ / name, log_); }
};

TEST(PathParts, AreTheDirectoryAndTheName) {
  const struct {
    const char *path, *parent, *name;
  } cases[] = {{"a/b", "a", "b"}, {"a/b//", "a", "b"}, {"a", ".", "a"}, {"/a", "/", "a"}, {"/a/b", "/a", "b"}};
  for (const auto& c : cases) {
    const PathParts parts = path_parts(c.path);
    EXPECT_EQ(parts.parent, c.parent) << c.path;
    EXPECT_EQ(parts.name, c.name) << c.path;
  }
  EXPECT_EQ(path_in(".", "a"), "a");
  EXPECT_EQ(path_in("/", "a"), "/a");
  EXPECT_EQ(path_in("a", "b"), "a/b");
}

TEST(StoredNames, SayTheSaverAndTheStep) {
  EXPECT_EQ(saver_of_name("x.safetensors"), "safetensors");
  EXPECT_EQ(saver_of_name("x.safetensors.index.json"), "safetensors");
  EXPECT_EQ(saver_of_name("x.npz"), "npz");
  EXPECT_EQ(saver_of_name("model.ckpt-5.index"), "tf_bundle");
  for (const char* other : {"x.bin", ".npz", "index", "x.npz.tmp", ""}) EXPECT_EQ(saver_of_name(other), "") << other;
  EXPECT_EQ(step_of_file("model.ckpt-1000.index"), 1000);
  EXPECT_EQ(step_of_file("weights-7.safetensors"), 7);
  EXPECT_EQ(step_of_file("w-7"), 7);
  EXPECT_EQ(step_of_file("w-7-00001-of-00005.safetensors"), 7);
  for (const char* none : {"model-00001-of-00005.safetensors", "-00001-of-00005", "model.index", "model-.index",
                           "model-x.npz", "a-99999999999999999999.npz"})
    EXPECT_EQ(step_of_file(none), std::nullopt) << none;
}

TEST_F(StoredPlaceTest, ARunDirectoryIsItsNewestCheckpoint) {
  save(1), save(2);
  const StoredPlace place = find("");
  ASSERT_NE(place.checkpoint, nullptr);
  EXPECT_EQ(place.checkpoint->index().global_step, 2);
  EXPECT_EQ(place.saver, "safetensors");
  EXPECT_EQ(find("model.ckpt-1").checkpoint->index().global_step, 1);
}

TEST_F(StoredPlaceTest, AFileIsKnownByItsContentToo) {
  save(1);
  std::filesystem::copy(dir_ / "model.ckpt-1/model.safetensors", dir_ / "weights.bin");
  write_file(dir_ / "archive", std::string("PK\3\4") + std::string(40, '\0'));
  write_file(dir_ / "table", std::string(40, 'x') + "\x57\xfb\x80\x8b\x24\x75\x47\xdb");
  write_file(dir_ / "text", "nothing of the kind");
  write_file(dir_ / "short", "x");
  EXPECT_EQ(find("weights.bin").saver, "safetensors");
  EXPECT_EQ(find("archive").saver, "npz");
  EXPECT_EQ(find("table").saver, "tf_bundle");
  EXPECT_EQ(find("text").saver, "");
  EXPECT_EQ(find("short").saver, "");
  EXPECT_EQ(find("weights.bin").checkpoint, nullptr);
}

TEST_F(StoredPlaceTest, TensorFlowsPathsLackTheEnding) {
  write_file(dir_ / "model.ckpt-5.index", "x");
  EXPECT_EQ(find("model.ckpt-5").path, dir_ / "model.ckpt-5.index");
  EXPECT_EQ(find("model.ckpt-5").saver, "tf_bundle");
  write_file(dir_ / "checkpoint", "model_checkpoint_path: \"model.ckpt-5\"");
  EXPECT_EQ(find("").path, dir_ / "model.ckpt-5.index");
}

TEST_F(StoredPlaceTest, AnIndexOfNothingIsNotATensorFlowCheckpointInADirectory) {
  write_file(dir_ / "book.index", "x");
  write_file(dir_ / "model.index", "x");
  write_file(dir_ / "model.data-00000-of-00001", "x");
  EXPECT_EQ(saver_of_entry(*run_, "book.index"), "");
  EXPECT_EQ(saver_of_entry(*run_, "model.index"), "tf_bundle");
  EXPECT_EQ(saver_of_entry(*run_, "model.data-00000-of-00001"), "");
}

TEST_F(StoredPlaceTest, WhatIsNotThereIsNamed) {
  EXPECT_EQ(error_of([&] { find("none"); }), "NOT_FOUND: [B4025] there is no '" + (dir_ / "none") + "'");
  EXPECT_EQ(error_of([&] { find_stored(files_, dir_.path(), log_); }),
            "NOT_FOUND: [B4025] '" + dir_.path() +
                "' is neither a checkpoint (it has no index) nor does it hold one (model.ckpt-*); another program's is "
                "named by its file");
}

}  // namespace
}  // namespace belay::runtime
