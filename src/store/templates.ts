/** Templates and their versions, for both engines. A version never changes. */
import type { Template, TemplateManifest, TemplateVersion } from '../contract/template.js';
import type { Queries, RunTogether } from './rows.js';
import type { TemplateStore } from './store.js';

type TemplateRow = Omit<Template, 'manifest' | 'files'> & { manifest: string; files: string };

const TEMPLATE = 'SELECT id, account_id, name, version, manifest, files, bytes, sha256, created_at FROM templates';
/** The versions of a template ($2) of an account ($1). */
const OF_NAME = 'account_id = $1 AND name = $2';

export function templateSteps(queries: Queries, runTogether: RunTogether): TemplateStore {
  const find = async (condition: string, values: readonly unknown[]) =>
    toTemplate(await queries.one<TemplateRow>(`${TEMPLATE} WHERE ${condition} ORDER BY version DESC LIMIT 1`, values));
  return {
    async insertTemplate({ id, accountId, name, manifest, files, bytes, sha256, createdAt }, content, limits) {
      const [, tooMany] = await runTogether([
        [
          `INSERT INTO templates (id, account_id, name, version, manifest, files, bytes, sha256, created_at, content)
            VALUES ($1, $2, $3, (SELECT coalesce(max(version), 0) + 1 FROM templates WHERE account_id = $2 AND name = $3), $4, $5, $6, $7, $8, $9)`,
          [id, accountId, name, JSON.stringify(manifest), JSON.stringify(files), bytes, sha256, createdAt, content],
        ],
        [
          `DELETE FROM templates WHERE id = $1 AND ((SELECT count(*) FROM templates WHERE account_id = $2 AND name = $3) > $4
            OR (SELECT count(DISTINCT name) FROM templates WHERE account_id = $2) > $5
            OR (SELECT sum(bytes) FROM templates WHERE account_id = $2) > $6)`,
          [id, accountId, name, limits.versions, limits.templates, limits.bytes],
        ],
      ]);
      return tooMany === 0 ? await find('id = $1', [id]) : null;
    },
    findTemplate: ({ accountId, name, version }) =>
      version === null
        ? find(OF_NAME, [accountId, name])
        : find(`${OF_NAME} AND version = $3`, [accountId, name, version]),
    templateContent: async (id) =>
      (await queries.one<{ content: Buffer }>('SELECT content FROM templates WHERE id = $1', [id]))?.content ?? null,
    templateVersions: (accountId, name) =>
      queries.all<TemplateVersion>(
        `SELECT version, bytes, sha256, created_at FROM templates WHERE ${OF_NAME} ORDER BY version DESC`,
        [accountId, name],
      ),
    async listTemplates(accountId) {
      const rows = await queries.all<Pick<TemplateRow, 'name' | 'version' | 'manifest' | 'createdAt'> & Sums>(
        `SELECT templates.name, templates.version, templates.manifest, templates.created_at, sums.versions, sums.all_bytes
          FROM templates JOIN (SELECT name, max(version) AS newest, count(*) AS versions, CAST(sum(bytes) AS bigint) AS all_bytes
            FROM templates WHERE account_id = $1 GROUP BY name) sums ON sums.name = templates.name AND sums.newest = templates.version
          WHERE templates.account_id = $1 ORDER BY templates.name`,
        [accountId],
      );
      return rows.map(({ manifest, allBytes, ...row }) => ({
        ...row,
        bytes: allBytes,
        manifest: JSON.parse(manifest),
      }));
    },
    deleteTemplate: (accountId, name) => queries.run(`DELETE FROM templates WHERE ${OF_NAME}`, [accountId, name]),
    deleteTemplateVersion: async (accountId, name, version) =>
      (await queries.run(
        `DELETE FROM templates WHERE ${OF_NAME} AND version = $3 AND version < (SELECT max(version) FROM templates WHERE ${OF_NAME})`,
        [accountId, name, version],
      )) === 1,
  };
}

interface Sums {
  versions: number;
  allBytes: number;
}

function toTemplate(row: TemplateRow | null): Template | null {
  return (
    row && {
      ...row,
      manifest: JSON.parse(row.manifest) as TemplateManifest,
      files: JSON.parse(row.files) as Template['files'],
    }
  );
}
