import { T } from "../state/strings";

export function Head() {
  return <p class="lead">{T.comesLater}</p>;
}
