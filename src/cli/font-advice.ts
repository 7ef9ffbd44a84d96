import { existsSync } from 'node:fs';

const ALPINE_SCRIPTS = ['arabic', 'bengali', 'devanagari', 'hebrew', 'tamil', 'telugu', 'thai'];

/** Images of Debian and Alpine come without the list of packages. */
const COMMANDS: readonly [manager: string, command: string][] = [
  ['/usr/bin/apt-get', 'sudo apt-get update && sudo apt-get install -y fontconfig fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji'],
  [
    '/sbin/apk',
    `sudo apk add -U fontconfig font-noto font-noto-cjk font-noto-emoji ${ALPINE_SCRIPTS.map((script) => `font-noto-${script}`).join(' ')}`,
  ],
  ['/usr/bin/dnf', 'sudo dnf install -y default-fonts'],
  ['/usr/bin/pacman', 'sudo pacman -S --noconfirm noto-fonts noto-fonts-cjk noto-fonts-emoji'],
];

/** The command that installs fonts for all scripts on this system; a sentence where its package manager is not known. */
export function fontAdvice(exists: (path: string) => boolean = existsSync, isRoot = process.getuid?.() === 0): string {
  const command = COMMANDS.find(([manager]) => exists(manager))?.[1];
  if (command === undefined) return "Install the Noto fonts, including CJK and color emoji, with your system's package manager.";
  return `Install them with: ${isRoot ? command.replaceAll('sudo ', '') : command}`;
}
