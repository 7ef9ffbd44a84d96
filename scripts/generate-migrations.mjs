/**
 * Makes a migration of each engine whose schema has changed; with the argument `sqlite` or `postgres`, of that engine alone. Further
 * arguments, such as `--name watches`, are those of drizzle-kit.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ENGINES = {
  sqlite: { dialect: 'sqlite', out: 'drizzle' },
  postgres: { dialect: 'postgresql', out: 'drizzle-pg' },
};
const ROOT = fileURLToPath(new URL('..', import.meta.url));

const given = process.argv.slice(2);
const engines = given[0] in ENGINES ? [given.shift()] : Object.keys(ENGINES);
for (const engine of engines) {
  const { dialect, out } = ENGINES[engine];
  const options = [
    '--dialect',
    dialect,
    '--schema',
    `src/store/${engine}/schema.ts`,
    '--out',
    out,
    '--casing',
    'snake_case',
  ];
  execFileSync(process.execPath, ['node_modules/drizzle-kit/bin.cjs', 'generate', ...options, ...given], {
    cwd: ROOT,
    stdio: 'inherit',
  });
}
// drizzle-kit names the schema `public` in references and views, but an operator may choose another by the `search_path` of the URL.
for (const name of readdirSync(`${ROOT}drizzle-pg`).filter((file) => file.endsWith('.sql'))) {
  const file = `${ROOT}drizzle-pg/${name}`;
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll('"public".', ''));
}
