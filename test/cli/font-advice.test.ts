import { expect, it } from 'vitest';
import { fontAdvice } from '../../src/cli/font-advice.js';

it("the advice is one command for the system's package manager, with sudo for each part that needs it", () => {
  expect(fontAdvice((path) => path === '/usr/bin/apt-get', false)).toBe(
    'Install them with: sudo apt-get update && sudo apt-get install -y fontconfig fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji',
  );
  expect(fontAdvice((path) => path === '/usr/bin/apt-get', true)).toMatch(
    /^Install them with: apt-get update && apt-get install -y font/,
  );
  expect(fontAdvice((path) => path === '/sbin/apk', true)).toMatch(
    /^Install them with: apk add -U fontconfig font-noto .*font-noto-thai$/,
  );
  expect(fontAdvice((path) => path === '/usr/bin/dnf', true)).toBe('Install them with: dnf install -y default-fonts');
  expect(fontAdvice((path) => path === '/usr/bin/pacman', false)).toMatch(/^Install them with: sudo pacman /);
  expect(fontAdvice(() => false)).toMatch(/^Install the Noto fonts/);
});
