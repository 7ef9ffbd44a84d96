import type { CompletedCommand } from './completion-model.js';

/** Works as a function file of the name _stillframe as well as sourced. */
export function zshCompletion(commands: readonly CompletedCommand[]): string {
  return `#compdef stillframe
# stillframe completion for zsh. To use it: source <(stillframe completion zsh)
_stillframe() {
  local at='' word files=''
  local -a commands options
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at $word" in
${commands
  .filter(({ at }) => at !== '')
  .map(({ at }) => `      ${quoted(at.includes(' ') ? at : ` ${at}`)}) at=${quoted(at)} ;;\n`)
  .join('')}    esac
  done
  case "$at \${words[CURRENT-1]}" in
${commands.flatMap(valueCases).join('')}  esac
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

function valueCases({ at, options }: CompletedCommand): string[] {
  return options
    .filter(({ value }) => value !== 'none')
    .map(({ names, value }) => {
      const patterns = names.map((name) => quoted(`${at} ${name}`)).join('|');
      return `    ${patterns}) ${replyTo(value)}return ;;\n`;
    });
}

function replyTo(value: 'text' | 'file' | 'none' | readonly string[]): string {
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

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
