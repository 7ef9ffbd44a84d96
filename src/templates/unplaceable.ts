/** A value stands where it could become something else than a value. */
export class Unplaceable extends Error {
  /**
   * @param place continues "has a value in"
   * @param advice what to do instead
   */
  constructor(place: string, advice = 'no value may stand there') {
    super(`has a value in ${place}: ${advice}`);
  }
}
