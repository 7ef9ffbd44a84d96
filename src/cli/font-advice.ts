import { type ManagerCommand, systemCommand } from '../render/install/run-command.js';

const ALPINE_SCRIPTS = ['arabic', 'bengali', 'devanagari', 'hebrew', 'tamil', 'telugu', 'thai'];

/** Commands by package manager. The images of Debian and Alpine come without the list of packages, so these fetch it. */
const COMMANDS: readonly ManagerCommand[] = [
  [
    '/usr/bin/apt-get',
    'sudo apt-get update && sudo apt-get install -y fontconfig fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji',
  ],
  [
    '/sbin/apk',
    `sudo apk add -U fontconfig font-noto font-noto-cjk font-noto-emoji ${ALPINE_SCRIPTS.map((script) => `font-noto-${script}`).join(' ')}`,
  ],
  ['/usr/bin/dnf', 'sudo dnf install -y default-fonts'],
  ['/usr/bin/pacman', 'sudo pacman -S --noconfirm noto-fonts noto-fonts-cjk noto-fonts-emoji'],
];

/** Returns the command that installs fonts for all scripts on this system, or a sentence if its package manager is unknown. */
export function fontAdvice(exists?: (path: string) => boolean, isRoot?: boolean): string {
  const command = systemCommand(COMMANDS, exists, isRoot);
  if (command === null)
    return "Install the Noto fonts, including CJK and color emoji, with your system's package manager.";
  return `Install them with: ${command}`;
}
