import { type CompletedCommand, type CompletedOption, pathCases, quoted, valueCases } from './completion-model.js';

/** Generates a script that works both sourced and as a function file named _stillframe. */
export function zshCompletion(commands: readonly CompletedCommand[]): string {
  return `#compdef stillframe
# stillframe completion for zsh. To use it: source <(stillframe completion zsh)
_stillframe() {
  local at='' word files=''
  local -a commands options
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at $word" in
${pathCases(commands)}    esac
  done
  case "$at \${words[CURRENT-1]}" in
${valueCases(commands, replyTo)}  esac
  case "$at" in
${commands.map(wordCase).join('')}  esac
  if [[ $PREFIX == -?* ]]; then
    _describe -o option options
  elif (( $#commands )); then
    _describe command commands
  elif [[ -n $files ]]; then
    _files
  fi
}
if [[ "\${funcstack[1]}" == _stillframe ]]; then
  _stillframe "$@"
else
  compdef _stillframe stillframe
fi
`;
}

function replyTo(value: CompletedOption['value']): string {
  if (value === 'file') return '_files; ';
  return typeof value === 'string' ? '' : `compadd -- ${value.map(quoted).join(' ')}; `;
}

function wordCase({ at, commands, choices, options, takesFile }: CompletedCommand): string {
  const words = [...commands.map(({ name, help }) => described(name, help)), ...choices.map(quoted)].join(' ');
  const flags = options.flatMap(({ names, help }) => names.map((name) => described(name, help))).join(' ');
  return `    ${quoted(at)}) commands=(${words}) options=(${flags}) files=${quoted(takesFile ? 'yes' : '')} ;;\n`;
}

function described(name: string, help: string): string {
  return quoted(`${name.replaceAll(':', '\\:')}:${help}`);
}
