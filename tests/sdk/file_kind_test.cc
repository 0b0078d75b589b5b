// SPDX-License-Identifier: Apache-2.0
#include "belay/file_kind.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "belay/data_file.h"
#include "belay/testing/temporary_folder.h"
#include "belay/testing/testing.h"

namespace belay_sdk_test {
namespace {

using namespace std::string_literals;

TEST(FileKind, T_120_FilesThatOthersWriteAreKnownByTheirFirstBytes) {
  const struct {
    std::string bytes;
    std::string_view name;
  } kFiles[] = {
      {"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n", "a pointer of Git LFS"},
      {"/annex/objects/SHA256E-s3--aa.csv\n", "a pointer of git-annex"},
      {"\n<!DOCTYPE html>\n<html>", "a page of HTML"},
      {"<HTML><body>404", "a page of HTML"},
      {"<?xml version=\"1.0\"?><Error>", "a page of XML"},
      {"\x80\x04\x95\x10\0\0\0\0\0\0\0}"s, "a pickle of Python (torch.save, joblib)"},
      {"PK\3\4\x14"s, "a zip archive (torch.save, Keras and numpy.savez write such)"},
      {"\x89HDF\r\n\x1a\n\0"s, "an HDF5 file (Keras writes such)"},
      {"GGUF\3\0\0\0"s, "a GGUF file (llama.cpp)"},
      {"\x93NUMPY\1\0"s, "an .npy file"},
      {"\x10\0\0\0\0\0\0\0{\"x\":1}"s, "a safetensors file"},
      {std::string(257, '\0') + "ustar\0", "a tar archive"},
  };
  for (const auto& file : kFiles) EXPECT_EQ(belay::file_kind(file.bytes).name, file.name);
  for (const std::string& unknown : {""s, "x,y\n1,2\n"s, "<unk> 0.1 0.2\n"s, "\0\0\x08\3"s, "\x80"s, "version 3"s})
    EXPECT_EQ(belay::file_kind(unknown).name, "") << unknown;
}

TEST(FileKind, T_120_WhatItIsComesWithAWayOut) {
  EXPECT_EQ(belay::foreign_text("GGUF", "IDX file", "write one", "?"),
            "is a GGUF file (llama.cpp), no IDX file: write one");
  EXPECT_EQ(belay::foreign_text("<html>", "IDX file", "write one", "?"),
            "is a page of HTML, no IDX file: a download that failed leaves one; fetch the file again");
  EXPECT_EQ(belay::foreign_text("1,2", "IDX file", "write one", "is none"), "is none");
}

TEST(FileKind, T_120_APointerIsNoDataFileWhicheverReaderAsks) {
  const belay::testing::TemporaryFolder folder;
  const std::string path =
      folder.write("train.csv", "version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 9\n");
  EXPECT_EQ(belay::testing::error_of([&] { belay::data_file_size("path", path); }),
            "FAILED_PRECONDITION: [B3048] path: '" + path +
                "' is a pointer of Git LFS: git lfs pull fetches the file itself");
  const std::string other = folder.write("other.csv", "version\n1\n");
  EXPECT_EQ(belay::data_file_size("path", other), 10u);
}

}  // namespace
}  // namespace belay_sdk_test
