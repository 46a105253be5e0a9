"""``sizewise nnunet``: how nnU-Net finds our trainers, and which there are."""

from typing import Annotated

import typer


def command(
    path: Annotated[bool, typer.Option("--path", help="Print the folder alone, for scripts.")] = False,
    name: Annotated[
        str | None, typer.Option(metavar="TRAINER", help="Print this trainer's name with the settings that are set.")
    ] = None,
) -> None:
    """Print the line that makes nnU-Net find the trainers, and list them with their settings."""
    from sizewise.errors import import_extra

    import_extra("nnunetv2", extra="nnunet", reason="training in nnU-Net")
    from sizewise.integrations.nnunet.listing import SETTING_COLUMNS, export_line, setting_rows, trainer_rows

    if path or name is not None:
        from sizewise.integrations.nnunet import trainer_folder
        from sizewise.integrations.nnunet.names import resolve

        print(trainer_folder() if name is None else resolve(name)[0])
        return
    from sizewise.cli.show import show_next, show_table
    from sizewise.integrations.nnunet.settings import DECISION_VARIABLE

    trainers, settings = list(trainer_rows()), list(setting_rows())
    show_table("Trainers: nnUNetv2_train DATASET CONFIGURATION FOLD -tr TRAINER", ["trainer", "trains with"], trainers)
    show_table("Settings: environment variables; the model folder's name tells them", SETTING_COLUMNS, settings)
    print(f"{DECISION_VARIABLE}=dice (or iou, size) validates once more, with labels decided for that.")
    print(export_line())
    show_next(f"nnUNetv2_train DATASET 3d_fullres 0 -tr {trainers[-2][0]}")
