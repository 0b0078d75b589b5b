// SPDX-License-Identifier: Apache-2.0
// A static of an inline function and one of a template. If they are exported, the dynamic linker makes one of each for
// the whole process, in any mode of loading (STB_GNU_UNIQUE). With a version script each library has its own.
#include <string>

inline int& of_a_function() {
  static int count = 0;
  return count;
}

template <class T>
struct OfATemplate {
  static int count;
};
template <class T>
int OfATemplate<T>::count = 0;

extern "C" const char* belay_test_who();
const char* belay_test_who() {
  static std::string text;
  text = std::to_string(++of_a_function()) + " and " + std::to_string(++OfATemplate<char>::count);
  return text.c_str();
}
