// SPDX-License-Identifier: Apache-2.0
// Power is lost under a file system of the kernel: ext4 in an image, whose file is copied while it saves. A copy has
// what had reached the disk at that moment and nothing more; it is mounted and must restore what was announced before.
// (tests/checkpoint/power_loss_test.cc loses power at every change of a disk in memory.)
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>

#include "tests/crash/killed_saver.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime {
namespace {

bool runs(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

// The image in a file, mounted; goes with the object.
class MountedImage {
 public:
  MountedImage(const std::string& image, const std::string& at) : at_(at) {
    std::filesystem::create_directory(at);
    mounted_ = runs("mount -o loop,commit=1 " + image + " " + at);
  }
  MountedImage(const MountedImage&) = delete;
  MountedImage& operator=(const MountedImage&) = delete;
  ~MountedImage() {
    if (mounted_) runs("umount " + at_);
  }
  bool mounted() const { return mounted_; }

 private:
  const std::string at_;
  bool mounted_;
};

// save_loop in a directory, and what it has announced.
class Writer {
 public:
  Writer(const std::string& directory, const std::string& saver) {
    int output[2] = {-1, -1};
    if (pipe2(output, O_CLOEXEC) != 0) std::abort();
    output_ = output[0];
    child_ = fork();
    if (child_ == 0) {
      dup2(output[1], STDOUT_FILENO);
      execl(BELAY_SAVE_LOOP, BELAY_SAVE_LOOP, directory.c_str(), saver.c_str(), "for-ever", nullptr);
      _exit(127);
    }
    close(output[1]);
    fcntl(output_, F_SETFL, O_NONBLOCK);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    close(output_);
  }
  // The last step announced when the process was stopped.
  std::int64_t stop() {
    kill(child_, SIGSTOP);
    int status = 0;
    waitpid(child_, &status, WUNTRACED);
    EXPECT_TRUE(WIFSTOPPED(status)) << "it ended by itself: wait status " << status;
    char buffer[4096];
    for (ssize_t n; (n = read(output_, buffer, sizeof(buffer))) > 0;) said_.append(buffer, static_cast<std::size_t>(n));
    const std::size_t last = said_.rfind("saved ");
    return last == said_.npos ? -1 : std::stoll(said_.substr(last + 6));
  }
  void go_on() { kill(child_, SIGCONT); }

 private:
  pid_t child_ = -1;
  int output_ = -1;
  std::string said_;
};

class PowerLossOnDisk : public ::testing::Test {
 protected:
  // The mounts are this process's, and gone with it.
  void SetUp() override {
    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      GTEST_SKIP() << "SKIPPED: only root may mount an image";
    if (!runs("truncate -s 24M " + image_ + " && mkfs.ext4 -q -F " + image_))
      GTEST_SKIP() << "SKIPPED: there is no mkfs.ext4";
    if (!MountedImage(image_, dir_ / "probe").mounted()) GTEST_SKIP() << "SKIPPED: no loop device can be mounted here";
  }
  void lose_power(const std::string& saver, int times, unsigned seed) {
    const MountedImage disk(image_, dir_ / "disk");
    std::filesystem::create_directory(dir_ / "disk/run");
    Writer writer(dir_ / "disk/run", saver);
    std::mt19937 random(seed);
    std::int64_t announced = -1;
    for (int i = 0; i < times && !HasFailure(); ++i) {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 200'000));
      announced = writer.stop();
      const std::string copy = dir_ / "copy.image";
      ASSERT_TRUE(runs("cp --sparse=always " + image_ + " " + copy));
      writer.go_on();
      const MountedImage left(copy, dir_ / ("left" + std::to_string(i)));
      ASSERT_TRUE(left.mounted());
      // A start there restores at least that step, with every bit, and saves twice.
      const std::string run = dir_ / ("left" + std::to_string(i) + "/run");
      if (announced < 0 && !std::filesystem::exists(run)) continue;
      KilledSaver start(run, saver, announced);
      start.live(
          "once", [] {}, run_to_end);
      EXPECT_TRUE(start.finished()) << "round " << i << ", announced " << announced;
    }
    writer.stop();
    std::printf("power was lost %d times; last step announced %lld\n", times, static_cast<long long>(announced));
    EXPECT_GT(announced, 10);
  }

  TempDir dir_;
  const std::string image_ = dir_ / "disk.image";
};

// F3
TEST_F(PowerLossOnDisk, AHundredTimesLosesNothingThatWasAnnounced) { lose_power("safetensors", 100, 1); }
TEST_F(PowerLossOnDisk, NorDoesItOfASaverThatNeverSyncs) { lose_power("stdio_saver", 50, 2); }
TEST_F(PowerLossOnDisk, NorOfOneOfSeveralFiles) { lose_power("tf_bundle", 50, 3); }

}  // namespace
}  // namespace belay::runtime
