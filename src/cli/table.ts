import CliTable from 'cli-table3';

/** Rows under their heads, without colours: they belong to no stream that could refuse them. */
export function table(head: string[], rows: string[][]): string {
  const drawn = new CliTable({ head, style: { head: [], border: [] } });
  drawn.push(...rows);
  return drawn.toString();
}
