import { existsSync } from 'node:fs';

const PACKAGES: readonly [manager: string, command: string][] = [
  ['/usr/bin/apt-get', 'apt-get install -y fontconfig fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji'],
  [
    '/sbin/apk',
    `apk add fontconfig font-noto font-noto-cjk font-noto-emoji ${['arabic', 'bengali', 'devanagari', 'hebrew', 'tamil', 'telugu', 'thai'].map((script) => `font-noto-${script}`).join(' ')}`,
  ],
  ['/usr/bin/dnf', 'dnf install -y default-fonts'],
  ['/usr/bin/pacman', 'pacman -S --noconfirm noto-fonts noto-fonts-cjk noto-fonts-emoji'],
];

/** The command that installs fonts for all scripts on this system; a sentence where its package manager is not known. */
export function fontAdvice(): string {
  const command = PACKAGES.find(([manager]) => existsSync(manager))?.[1];
  if (command === undefined) return "Install the Noto fonts, including CJK and color emoji, with your system's package manager.";
  return `Install them with: ${process.getuid?.() === 0 ? '' : 'sudo '}${command}`;
}
