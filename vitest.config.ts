import { defineConfig } from 'vitest/config';
import { inPageForVite } from './scripts/in-page-bundle.mjs';

export default defineConfig({
  plugins: [inPageForVite()],
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // Real browsers and servers on few cores: files run two at once, each in a process of its own.
    pool: 'forks',
    maxWorkers: 2,
  },
});
