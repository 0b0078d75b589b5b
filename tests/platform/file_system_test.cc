// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/files/file_system.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "belay/error.h"
#include "runtime/platform/files/directories_in.h"
#include "runtime/platform/process/spare_descriptors.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class FileSystemTest : public ::testing::Test {
 protected:
  std::unique_ptr<OpenDirectory> open() { return posix_file_system().open_directory(dir_.path()); }

  static void put(OpenDirectory& directory, std::string_view name, std::string_view content) {
    const auto file = directory.create(name);
    file->write(content.data(), content.size());
    file->close();
  }

  // The whole message, with the test's directory as DIR, after the code.
  template <class Call>
  std::string error_of(Call&& call) {
    try {
      call();
    } catch (const Error& e) {
      std::string text = code_name(e.code()) + std::string(": ") + e.what();
      for (std::size_t at; (at = text.find(dir_.path())) != std::string::npos;)
        text.replace(at, dir_.path().size(), "DIR");
      return text;
    }
    return "no error";
  }

  TempDir dir_;
};

TEST_F(FileSystemTest, WhatIsWrittenIsRead) {
  const auto directory = open();
  const auto file = directory->create("a");
  file->write("hello ", 6);
  file->write("world", 5);
  file->sync();
  EXPECT_EQ(file->size(), 11u);
  EXPECT_EQ(file->path(), dir_ / "a");
  file->close();
  char text[5];
  directory->open("a")->read_at(6, text, 5);
  EXPECT_EQ(std::string(text, 5), "world");
  EXPECT_EQ(directory->read("a", 100), "hello world");
}

TEST_F(FileSystemTest, WhatIsWrittenOverStaysInItsPlace) {
  const auto directory = open();
  const auto file = directory->create("a");
  file->write("rows: ?, ", 9);
  file->write_at(6, "2", 1);
  file->write("end", 3);
  file->close();
  EXPECT_EQ(directory->read("a", 100), "rows: 2, end");
  char byte = 'x';
  EXPECT_EQ(error_of([&] { directory->open("a")->write_at(0, &byte, 1); }),
            "INTERNAL: cannot write 'DIR/a': Bad file descriptor");
}

TEST_F(FileSystemTest, LargeWritesArriveWhole) {
  const auto directory = open();
  std::string content(10'000'000, '\0');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 31 >> 3);
  put(*directory, "a", content);
  EXPECT_TRUE(directory->read("a", content.size()) == content);
}

TEST_F(FileSystemTest, WhoMayReadNewFilesAndDirectoriesIsTheUmasksChoice) {
  const struct {
    mode_t mask;
    std::uint32_t file, directory;
  } cases[] = {{0, 0666, 0775}, {022, 0644, 0755}, {077, 0600, 0700}};
  for (const auto& c : cases) {
    const std::string name = std::to_string(c.mask);
    const mode_t previous = ::umask(c.mask);
    const auto directory = open();
    put(*directory, "a" + name, "");
    directory->make_directory("b" + name);
    posix_file_system().make_directories(dir_ / ("c" + name + "/d"));
    ::umask(previous);
    EXPECT_EQ(directory->status("a" + name).mode, c.file) << name;
    EXPECT_EQ(directory->status("b" + name).mode, c.directory) << name;
    EXPECT_EQ(posix_file_system().status(dir_ / ("c" + name)).mode, c.directory) << name;
    EXPECT_EQ(posix_file_system().status(dir_ / ("c" + name + "/d")).mode, c.directory) << name;
  }
}

TEST_F(FileSystemTest, StatusTellsKindSizeAndOwner) {
  const auto directory = open();
  put(*directory, "a", "xyz");
  directory->make_directory("b");
  std::filesystem::create_symlink("a", dir_ / "c");
  EXPECT_EQ(directory->status("a").kind, FileKind::kFile);
  EXPECT_EQ(directory->status("a").size, 3u);
  EXPECT_EQ(directory->status("a").owner, ::getuid());
  EXPECT_GT(directory->status("a").modified_ns, 1'700'000'000'000'000'000);
  EXPECT_EQ(directory->status("b").kind, FileKind::kDirectory);
  EXPECT_EQ(directory->status("c").kind, FileKind::kSymlink);
  EXPECT_EQ(posix_file_system().status(dir_ / "c").kind, FileKind::kFile);
  EXPECT_EQ(posix_file_system().status(dir_ / "c").inode, directory->status("a").inode);
}

TEST_F(FileSystemTest, EntriesAreSortedAndWithoutDots) {
  const auto directory = open();
  for (const char* name : {"c", "a", ".hidden", "b"}) put(*directory, name, "");
  EXPECT_THAT(directory->entries(), ElementsAre(".hidden", "a", "b", "c"));
  EXPECT_THAT(directory->entries(), ElementsAre(".hidden", "a", "b", "c"));
}

TEST_F(FileSystemTest, RenameReplacesAFile) {
  const auto directory = open();
  put(*directory, "a", "new");
  put(*directory, "b", "old");
  directory->rename("a", "b");
  EXPECT_EQ(directory->read("b", 10), "new");
  EXPECT_FALSE(directory->exists("a"));
}

TEST_F(FileSystemTest, ADirectoryStaysTheSameWhenItIsRenamed) {
  const auto directory = open();
  const auto inside = directory->make_directory("a");
  directory->rename("a", "b");
  put(*inside, "x", "1");
  EXPECT_EQ(directory->open_directory("b")->read("x", 10), "1");
}

TEST_F(FileSystemTest, RemoveTreeRemovesLinksButNotWhatTheyPointAt) {
  const auto directory = open();
  put(*directory, "kept", "1");
  directory->make_directory("outside");
  const auto tree = directory->make_directory("tree");
  put(*tree, "a", "");
  put(*tree->make_directory("deep")->make_directory("deeper"), "b", "");
  std::filesystem::create_symlink("../kept", dir_ / "tree/link");
  std::filesystem::create_directory_symlink("../outside", dir_ / "tree/directory_link");
  directory->remove_tree("tree");
  EXPECT_THAT(directory->entries(), ElementsAre("kept", "outside"));
}

TEST_F(FileSystemTest, MakeDirectoriesTakesWhatIsThere) {
  posix_file_system().make_directories(dir_ / "a/b/c");
  EXPECT_EQ(posix_file_system().make_directories(dir_ / "a/b/c/")->path(), dir_ / "a/b/c/");
  EXPECT_TRUE(posix_file_system().exists(dir_ / "a/b"));
  EXPECT_FALSE(posix_file_system().exists(dir_ / "a/x"));
}

TEST_F(FileSystemTest, T_167_WhatIsMadeInADirectoryFollowsNoLinkOutOfIt) {
  const auto directory = open();
  directory->make_directory("elsewhere");
  directory->make_directory("run");
  std::filesystem::create_directory_symlink("run", dir_ / "link");
  EXPECT_EQ(make_directories_in(posix_file_system(), dir_ / "link", "export/onnx")->path(), dir_ / "link/export/onnx");
  EXPECT_EQ(make_directories_in(posix_file_system(), dir_ / "run", "export/onnx")->path(), dir_ / "run/export/onnx");
  EXPECT_EQ(make_directories_in(posix_file_system(), dir_ / "run/new", "")->path(), dir_ / "run/new");
  for (const std::string made : {"run/eval", "run/export/best"})
    std::filesystem::create_directory_symlink(dir_ / "elsewhere", dir_ / made);
  const std::string why = " is a symbolic link, which could lead out of the run directory; remove it";
  EXPECT_EQ(error_of([&] { make_directories_in(posix_file_system(), dir_ / "run", "eval"); }),
            "FAILED_PRECONDITION: 'DIR/run/eval'" + why);
  EXPECT_EQ(error_of([&] { make_directories_in(posix_file_system(), dir_ / "run", "eval/deep"); }),
            "FAILED_PRECONDITION: 'DIR/run/eval'" + why);
  EXPECT_EQ(error_of([&] { make_directories_in(posix_file_system(), dir_ / "run", "export/best"); }),
            "FAILED_PRECONDITION: 'DIR/run/export/best'" + why);
  EXPECT_TRUE(directory->open_directory("elsewhere")->entries().empty());
}

TEST_F(FileSystemTest, FreeBytesAreToldForAnExistingPath) {
  EXPECT_GT(posix_file_system().free_bytes(dir_.path()), 0u);
  EXPECT_EQ(error_of([&] { posix_file_system().free_bytes(dir_ / "x"); }),
            "NOT_FOUND: cannot read the free space of 'DIR/x': No such file or directory");
}

TEST_F(FileSystemTest, ReplaceLeavesOneFileWithTheNewContent) {
  const auto directory = open();
  directory->replace("state", "one");
  directory->replace("state", "two");
  put(*directory, "state.tmp", "left over by a run that was killed");
  directory->replace("state", "three");
  EXPECT_EQ(directory->read("state", 10), "three");
  EXPECT_THAT(directory->entries(), ElementsAre("state"));
}

TEST_F(FileSystemTest, TheLockIsHeldByOneUntilItDies) {
  const auto directory = open();
  auto lock = directory->try_lock("lock");
  ASSERT_NE(lock, nullptr);
  lock->write("me", 2);
  EXPECT_EQ(open()->try_lock("lock"), nullptr);
  EXPECT_EQ(directory->read("lock", 10), "me");
  lock.reset();
  lock = open()->try_lock("lock");
  ASSERT_NE(lock, nullptr);
  EXPECT_EQ(directory->read("lock", 10), "");
  lock->close();
  EXPECT_NE(open()->try_lock("lock"), nullptr);
}

TEST_F(FileSystemTest, ErrorsNameTheCallThePathAndTheReason) {
  const auto directory = open();
  put(*directory, "file", "abc");
  directory->make_directory("full")->make_directory("x");
  directory->make_directory("other");
  std::filesystem::create_symlink("file", dir_ / "link");
  ASSERT_EQ(::mkfifo((dir_ / "pipe").c_str(), 0600), 0);
  char byte;
  const struct {
    std::function<void()> call;
    std::string expected;
  } cases[] = {
      {[&] { directory->open("x"); }, "NOT_FOUND: cannot open 'DIR/x': No such file or directory"},
      {[&] { directory->create("file"); }, "ALREADY_EXISTS: cannot create 'DIR/file': File exists"},
      {[&] { directory->create("link"); }, "ALREADY_EXISTS: cannot create 'DIR/link': File exists"},
      {[&] { directory->open("link"); },
       "FAILED_PRECONDITION: cannot open 'DIR/link': Too many levels of symbolic links"},
      {[&] { directory->open("pipe"); }, "FAILED_PRECONDITION: cannot open 'DIR/pipe': Not a regular file"},
      {[&] { directory->open("full"); }, "FAILED_PRECONDITION: cannot open 'DIR/full': Not a regular file"},
      {[&] { directory->open_directory("file"); },
       "FAILED_PRECONDITION: cannot open directory 'DIR/file': Not a directory"},
      {[&] { directory->make_directory("full"); }, "ALREADY_EXISTS: cannot make directory 'DIR/full': File exists"},
      {[&] { directory->rename("x", "y"); }, "NOT_FOUND: cannot rename 'DIR/x' to 'DIR/y': No such file or directory"},
      {[&] { directory->rename("other", "full"); },
       "ALREADY_EXISTS: cannot rename 'DIR/other' to 'DIR/full': Directory not empty"},
      {[&] { directory->remove("x"); }, "NOT_FOUND: cannot remove 'DIR/x': No such file or directory"},
      {[&] { directory->remove("full"); }, "FAILED_PRECONDITION: cannot remove 'DIR/full': Is a directory"},
      {[&] { directory->remove_tree("file"); },
       "FAILED_PRECONDITION: cannot open directory 'DIR/file': Not a directory"},
      {[&] { directory->status("x"); }, "NOT_FOUND: cannot read the status of 'DIR/x': No such file or directory"},
      {[&] { directory->open("a/b"); },
       "INVALID_ARGUMENT: 'a/b' is no name for an entry of 'DIR': use one part of a path, without '/'"},
      {[&] { directory->remove(".."); },
       "INVALID_ARGUMENT: '..' is no name for an entry of 'DIR': use one part of a path, without '/'"},
      {[&] { directory->create(""); },
       "INVALID_ARGUMENT: '' is no name for an entry of 'DIR': use one part of a path, without '/'"},
      {[&] { directory->create(std::string(300, 'a')); },
       "INVALID_ARGUMENT: cannot create 'DIR/" + std::string(300, 'a') + "': File name too long"},
      {[&] { directory->open("\x1b[31m"); }, "NOT_FOUND: cannot open 'DIR/\\x1b[31m': No such file or directory"},
      {[&] { directory->open("file")->read_at(1, &byte, 0); }, "no error"},
      {[&] { directory->open("file")->read_at(3, &byte, 1); },
       "DATA_LOSS: cannot read 'DIR/file': it ends at byte 3, 1 bytes were wanted from byte 3"},
      {[&] { directory->read("file", 2); },
       "RESOURCE_EXHAUSTED: cannot read 'DIR/file': it has 3 bytes, at most 2 are read"},
      {[&] { directory->open("file")->write("x", 1); }, "INTERNAL: cannot write 'DIR/file': Bad file descriptor"},
      {[&] {
         const auto file = directory->open("file");
         file->close();
         file->close();
       },
       "INTERNAL: cannot close 'DIR/file': Bad file descriptor"},
      {[&] { posix_file_system().open_directory(dir_ / "x"); },
       "NOT_FOUND: cannot open directory 'DIR/x': No such file or directory"},
      {[&] { posix_file_system().make_directories(dir_ / "file/a"); },
       "FAILED_PRECONDITION: cannot make directory 'DIR/file/a': Not a directory"},
      {[&] { posix_file_system().make_directories(dir_ / "file"); },
       "FAILED_PRECONDITION: cannot open directory 'DIR/file': Not a directory"},
      {[&] { posix_file_system().status(dir_ / "x"); },
       "NOT_FOUND: cannot read the status of 'DIR/x': No such file or directory"},
  };
  for (const auto& c : cases) EXPECT_EQ(error_of(c.call), c.expected);
}

// Lowers a limit of the process while it lives.
class Limit {
 public:
  Limit(__rlimit_resource what, rlim_t limit) : what_(what) {
    ::getrlimit(what, &previous_);
    const rlimit lower{limit, previous_.rlim_max};
    ::setrlimit(what, &lower);
  }
  ~Limit() { ::setrlimit(what_, &previous_); }

 private:
  const __rlimit_resource what_;
  rlimit previous_;
};

TEST_F(FileSystemTest, AFileThatMayNotGrowIsResourceExhausted) {
  ::signal(SIGXFSZ, SIG_IGN);  // as the program does
  const auto file = open()->create("a");
  {
    const Limit limit(RLIMIT_FSIZE, 6);
    EXPECT_EQ(error_of([&] { file->write("12345678", 8); }),
              "RESOURCE_EXHAUSTED: cannot write 'DIR/a': File too large");
  }
  EXPECT_EQ(file->size(), 6u);  // a short write went before
}

TEST_F(FileSystemTest, RunningOutOfDescriptorsIsResourceExhausted) {
  const auto directory = open();
  const Limit limit(RLIMIT_NOFILE, 0);
  EXPECT_EQ(error_of([&] { directory->create("a"); }),
            "RESOURCE_EXHAUSTED: cannot create 'DIR/a': Too many open files");
  EXPECT_EQ(error_of([&] { directory->entries(); }), "RESOURCE_EXHAUSTED: cannot list 'DIR': Too many open files");
}

TEST_F(FileSystemTest, WhereAllDescriptorsAreUsedUpItHasThoseThatAreHeldBack) {
  const auto directory = open();
  hold_spare_descriptors();
  int last = ::dup(STDERR_FILENO);
  std::vector<int> taken{last};
  {
    const Limit limit(RLIMIT_NOFILE, static_cast<rlim_t>(last) + 10);
    while ((last = ::dup(STDERR_FILENO)) >= 0) taken.push_back(last);
    std::vector<std::unique_ptr<OpenFile>> files;
    for (int i = 0; i < 6; ++i) files.push_back(directory->create("file" + std::to_string(i)));
    EXPECT_EQ(error_of([&] { directory->create("a"); }),
              "RESOURCE_EXHAUSTED: cannot create 'DIR/a': Too many open files");
    // A closed file is held back again, and does not exist for others.
    files.pop_back();
    EXPECT_LT(::dup(STDERR_FILENO), 0);
    files.push_back(directory->create("a"));
    files.clear();
    EXPECT_LT(::dup(STDERR_FILENO), 0);
    EXPECT_THAT(directory->entries(), SizeIs(7));
  }
  for (const int fd : taken) ::close(fd);
}

TEST_F(FileSystemTest, APageIsInTheFileWithoutAnyCallAndLockedWhileItIsOpen) {
  const auto directory = open();
  {
    const std::unique_ptr<PageFile> file = directory->create_page("page");
    std::memcpy(file->page(), "stored", 6);
    file->write("behind", 6);
    EXPECT_TRUE(directory->locked("page"));
    EXPECT_EQ(error_of([&] { directory->create_page("page"); }),
              "ALREADY_EXISTS: cannot create 'DIR/page': File exists");
  }
  EXPECT_FALSE(directory->locked("page"));
  const std::string text = directory->read("page", 1 << 20);
  EXPECT_EQ(text.substr(0, 6), "stored");
  EXPECT_EQ(text.substr(PageFile::kPageBytes), "behind");
}

TEST_F(FileSystemTest, APageForWhichThereIsNoRoomIsRefusedAndLeavesNoFile) {
  const auto directory = open();
  ::signal(SIGXFSZ, SIG_IGN);
  {
    const Limit limit(RLIMIT_FSIZE, 100);
    EXPECT_EQ(error_of([&] { directory->create_page("page"); }),
              "RESOURCE_EXHAUSTED: cannot write 'DIR/page': File too large");
  }
  EXPECT_FALSE(directory->exists("page"));
}

TEST_F(FileSystemTest, WithoutPermissionNothingIsCreated) {
  constexpr uid_t kNobody = 65534;
  const auto directory = open();
  ASSERT_EQ(::chmod(dir_.path().c_str(), 0500), 0);
  const bool root = ::geteuid() == 0;
  if (root) {
    ASSERT_EQ(::seteuid(kNobody), 0);
  }
  const std::string error = error_of([&] { directory->create("a"); });
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  EXPECT_EQ(error, "PERMISSION_DENIED: cannot create 'DIR/a': Permission denied");
}

}  // namespace
}  // namespace belay::runtime
