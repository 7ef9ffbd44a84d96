import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { defineConfig } from 'tsup';

const require = createRequire(import.meta.url);

/** Files of development packages that ship beside the bundle, so that users need not install those packages. */
const COPIES: [from: string, to: string][] = [
  [require.resolve('swagger-ui-dist/swagger-ui.css'), 'docs/swagger-ui.css'],
  [require.resolve('swagger-ui-dist/swagger-ui-bundle.js'), 'docs/swagger-ui-bundle.js'],
  [require.resolve('swagger-ui-dist/LICENSE'), 'docs/swagger-ui.LICENSE'],
];

export default defineConfig({
  entry: {
    main: 'src/main.ts',
    'markdown-thread': 'src/render/inspect/markdown-thread.ts',
  },
  format: 'esm',
  target: 'node20',
  platform: 'node',
  outDir: 'dist',
  clean: true,
  sourcemap: false,
  async onSuccess() {
    execFileSync(process.execPath, ['scripts/build-rules.mjs', 'dist/block'], { stdio: ['ignore', 'ignore', 'inherit'] });
    for (const [from, to] of COPIES) {
      mkdirSync(dirname(join('dist', to)), { recursive: true });
      copyFileSync(from, join('dist', to));
    }
  },
});
