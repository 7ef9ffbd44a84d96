import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Real browsers and servers on few cores: files run two at once, each in a process of its own.
    pool: 'forks',
    maxWorkers: 2,
  },
});
