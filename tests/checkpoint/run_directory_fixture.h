// SPDX-License-Identifier: Apache-2.0
// A run directory on a file system that may fail, with the real saver, for the tests of what is written into it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "tests/checkpoint/checkpoint_fixture.h"
#include "tests/platform/faulty_file_system.h"

namespace belay::runtime {

class RunDirectoryTest : public ::testing::Test {
 protected:
  TempDir dir_;
  FakeClock clock_;
  RecordingLogger log_;
  SafetensorsSaver saver_;
  FaultyFileSystem files_{posix_file_system()};
  std::unique_ptr<OpenDirectory> run_ = files_.open_directory(dir_.path());
};

}  // namespace belay::runtime
