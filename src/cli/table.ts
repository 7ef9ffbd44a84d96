import CliTable from 'cli-table3';

/** Formats a text table without colours, since the kind of stream that it goes to is unknown. */
export function table(head: string[], rows: string[][]): string {
  const drawn = new CliTable({ head, style: { head: [], border: [] } });
  drawn.push(...rows);
  return drawn.toString();
}
