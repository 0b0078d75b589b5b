# SPDX-License-Identifier: Apache-2.0
# Completion of belay for bash: commands, options, keys after --set, names of plugins; else files.
_belay() {
  local line=${COMP_LINE:0:COMP_POINT} words word candidate
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  word=${words[-1]}
  COMPREPLY=()
  # bash completes the part after the last '=' or ':' of the word.
  local behind=${word##*[=:]}
  local before=${word%"$behind"}
  while IFS= read -r candidate; do
    COMPREPLY+=("${candidate#"$before"}")
  done < <("${words[0]}" complete $((${#words[@]} - 1)) "${words[@]}" 2> /dev/null)
  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2> /dev/null
  return 0
}
complete -o default -F _belay belay
