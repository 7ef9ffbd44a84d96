/** `npm run dev`: runs the server, and builds and starts it again, with source maps, whenever a file in src/ changes. */
import { ensureInstalled, run } from './prepare.mjs';

await ensureInstalled();
run(process.execPath, ['node_modules/tsup/dist/cli-default.js', '--watch', 'src', '--watch', 'docs', '--sourcemap'], {
  stdio: 'inherit',
});
