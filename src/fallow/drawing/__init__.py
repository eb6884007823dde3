"""Pictures of finished numbers: colours, figures and small pages; nothing here knows the model."""
