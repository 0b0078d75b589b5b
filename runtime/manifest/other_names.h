// SPDX-License-Identifier: Apache-2.0
// What things are called in Keras, PyTorch, Lightning, Hugging Face's trainer and TensorFlow 1, for the help of a
// message about a name that is not known here:
//
//   train.toml:12:1: error: unknown key "lr" in [optimizer]
//     help: write learning_rate in [optimizer]
//
// Upper and lower case, '_' and '-' make no difference to a name here. Only for messages: no other name is ever
// accepted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace belay::runtime {

// What to write in place of a key or section of other programs: "write learning_rate in [optimizer]". Empty if the name
// is not in the table, or is ours in `section`, where it was found.
std::string help_for_other_key(std::string_view name, std::string_view section = "");

// Of `words`, the one that such a name means: of kind "option" the options of a plugin ("size" for "kernel_size"), of
// kind "value" what a key may be ("max_pool" for "MaxPooling2D"). Empty: none.
std::string word_for_other(std::string_view kind, std::string_view name, const std::vector<std::string>& words);

// The same for the name of a plugin of `kind` ("hook", "schedule", ...): of `known`, the one that differs from it in
// case, '_', '-' or the words Hook, Callback, Optimizer, Saver and LR alone, or what the table has. Empty: neither.
std::string help_for_other_plugin(std::string_view kind, std::string_view name, const std::vector<std::string>& known);

// The table, for a test that holds it against what there is.
struct OtherName {
  const char* kind;     // of a plugin; "": a key or section; "option" and "value": see word_for_other
  const char* names;    // with a space between them, in lower case without '_' and '-'
  const char* section;  // where ours is: "optimizer", "input.train"; "": a plugin's name, or nothing to write
  const char* key;      // ours; "": the section itself
  const char* remark;   // behind it; alone where there is nothing to write
};
const std::vector<OtherName>& other_names();

}  // namespace belay::runtime
