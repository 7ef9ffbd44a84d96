/** Works through a list, so many at once. */
export async function inLanes<Item>(
  items: readonly Item[],
  width: number,
  work: (item: Item, index: number) => Promise<void>,
) {
  let next = 0;
  const lane = async () => {
    for (let index = next++; index < items.length; index = next++) {
      const item = items[index];
      if (item !== undefined) await work(item, index);
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
}
