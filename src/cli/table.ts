import CliTable from 'cli-table3';

/** A text table without colours, since the stream that it goes to is not known. */
export function table(head: string[], rows: string[][]): string {
  const drawn = new CliTable({ head, style: { head: [], border: [] } });
  drawn.push(...rows);
  return drawn.toString();
}
